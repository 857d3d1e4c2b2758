"""A page of one file that needs no other: the head that all of them have."""

from html import escape

TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def html_page(title: str, style: str, body: str) -> str:
    """Return a page as HTML: its title as text, the rules of its style, and what it shows."""
    return TEMPLATE.format(title=escape(title), style=style, body=body)
