"""Every chart of the project, as strings of SVG: the same picture in a notebook, a file, a report and the console.

- ``icon_array``     N out of 100, as little figures
- ``line_chart``     one or several lines with a legend, marks and rules
- ``step_chart``     values that hold until the next change
- ``density_chart``  two densities and their ratio
- ``stacked_chart``  several plots over one x axis
- ``bar_chart``      bars with error bars

Every chart has a title and a description for screen readers, tells series apart by dashes as well as by
colour, is light or dark as the reader prefers, and never cuts off data: axes grow to hold what they are given.
Start with ``curves``.
"""

from hubbub.render.charts import svg
from hubbub.render.charts.axes import Axis, Tick, percentage, plain
from hubbub.render.charts.bars import Bar, Icons, bar_chart, icon_array
from hubbub.render.charts.curves import (
    Mark,
    Panel,
    Rule,
    Series,
    density_chart,
    line_chart,
    stacked_chart,
    step_chart,
)
from hubbub.render.charts.svg import colours, escape, number, tag

__all__ = [
    "Axis",
    "Bar",
    "Icons",
    "Mark",
    "Panel",
    "Rule",
    "Series",
    "Tick",
    "bar_chart",
    "colours",
    "density_chart",
    "escape",
    "icon_array",
    "line_chart",
    "number",
    "percentage",
    "plain",
    "stacked_chart",
    "step_chart",
    "svg",
    "tag",
]
