"""What is printed or written: streams, tables, progress, files; one file per kind of output."""
