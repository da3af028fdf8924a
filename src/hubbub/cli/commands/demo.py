"""``hubbub demo``: the whole story on a made-up hospital, one chapter a file. Every number is computed as it runs."""

from __future__ import annotations

from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import PictureOptions


@spread_groups
def demo(page: PictureOptions) -> None:
    """A made-up hospital: exact answers leak, private ones do not, and a budget that cannot be overspent."""
    from hubbub.studies.demo import tell_story

    page.show(tell_story())
