"""The icon, the social card, and what a page says of itself to other sites."""

from docutils import nodes
from PIL import Image

from book._ext import pictures

TITLE = "The Weights of Uncertainty"


def test_icon_survives_16_pixels():
    icon = pictures.icon()
    small = icon.resize((16, 16), Image.Resampling.BOX)
    assert small.resize((64, 64), Image.Resampling.NEAREST).tobytes() == icon.tobytes()
    assert len(small.getcolors()) == 9 + 2  # cells, orange, nothing


def test_card_has_the_size_that_sites_ask_for():
    card = pictures.card(TITLE)
    assert card.size == (1200, 630)
    assert card.mode == "RGB"
    # A margin on every side: nothing is cut off.
    for box in [(0, 0, 1200, 40), (0, 590, 1200, 630), (0, 0, 40, 630), (1160, 0, 1200, 630)]:
        assert [color for _, color in card.crop(box).getcolors()] == [(255, 255, 255)]


def test_description_is_the_first_paragraph_of_the_text():
    note = nodes.note("", nodes.paragraph("", "Not this."))
    section = nodes.section("", nodes.title("", "Title"), note, nodes.paragraph("", "word " * 100))
    words = pictures.describe(nodes.section("", section))
    assert words.startswith("word word")
    assert words.endswith(" …")
    assert len(words) <= 200
    assert pictures.describe(nodes.section()) == ""


def test_tags_are_escaped():
    tags = pictures.metatags({"og:title": 'a "b" <c>', "description": ""})
    assert tags == '<meta property="og:title" content="a &quot;b&quot; &lt;c&gt;" />\n'
