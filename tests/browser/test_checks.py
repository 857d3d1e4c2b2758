"""The check of the book finds what is wrong with a page, and nothing on a sound one."""

from scripts.check_site import check_pages, serve

PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
    '<meta name="viewport" content="width=device-width">'
    "<script>document.documentElement.dataset.theme = localStorage.theme</script>{head}</head>"
    "<body><main><article><h1>A title</h1>{body}</article></main></body></html>"
)
CHAPTER = "book/counting/comparison.html"
# What stands on a faulty chapter, and the faults that are then found.
HEAD = {
    "<style>.x {width: 330px}</style>": ["scrolls sideways"],
    '<link rel="stylesheet" href="missing.css">': [
        "status 404: book/counting/missing.css",
        "net::ERR_FILE_NOT_FOUND: book/counting/missing.css",
        "console: Failed to load resource: net::ERR_FILE_NOT_FOUND",
        "console: Failed to load resource: the server responded with a status of 404 (Not Found)",
    ],
    '<link rel="stylesheet" href="http://127.0.0.1:9/x.css">': [  # no browser asks port 9
        "asks for http://127.0.0.1:9/x.css", "net::ERR_UNSAFE_PORT: http://127.0.0.1:9/x.css",
        "console: Failed to load resource: net::ERR_UNSAFE_PORT",
    ],
    "<script>throw new Error('no')</script>": ["page error: no"],
}  # fmt: skip
BODY = {
    "<div class=x>words</div>": [], "<h1>Another</h1>": ["shows not one title"],
    '<img src="empty.png" alt="">': ["picture without pixels"],
    '<span class="math notranslate">x</span>': ["formula not set"],
    "<mjx-container display style='display: block; width: 9px'>xyz</mjx-container>":
        ["cuts a formula off"],
    '<div class="bd-sidebar">Click</div>': ["printed, but can only be clicked"],
    "<p id=p hidden>Words.</p><script>p.hidden = false</script>": ["hidden without scripts"],
    "<details><summary>More</summary><p style='color: #888; background: #999'>Words.</p></details>":
        ["axe color-contrast"],
    '<img src="card.svg">': ["axe image-alt"],
    "": ["chapter without a figure"],
}  # fmt: skip


def test_each_fault_of_a_page_is_found_where_it_is_and_no_other(browser, tmp_path):
    page = tmp_path / CHAPTER
    page.parent.mkdir(parents=True)
    page.write_text(PAGE.format(head="".join(HEAD), body="".join(BODY)))
    (page.parent / "empty.png").touch()
    (page.parent / "card.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9"/>')
    (tmp_path / "sound.html").write_text(PAGE.format(head="", body="<p>Words.</p>"))
    with serve(tmp_path) as home:
        weights, wrong = check_pages(browser, tmp_path, home, ["sound.html", CHAPTER])
    assert {place.split()[0] for places in wrong.values() for place in places} == {CHAPTER}
    found = {text.partition(":")[0] if text.startswith("axe") else text for text in wrong}
    assert found == {fault for faults in (HEAD | BODY).values() for fault in faults}
    assert weights.keys() == {"sound.html", CHAPTER}
