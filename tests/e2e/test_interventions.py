"""Two people at once on one server: each edits the model that both share, and neither sees the other's edits."""

from tests.nightly import nightly

PLAIN = "/interventions?parts="


@nightly
def test_edits_of_one_window_are_not_seen_in_another(visitor, stranger, visit, server):
    other = stranger.open(PLAIN)
    plain = other.drawn("prediction")
    one = visitor.open("/interventions?parts=0.3&action=off")
    off = one.expect_drawing("prediction", unlike=plain)
    one.click_cell("board", 5, 2)
    one.wait_for_address(parts="0.3 2.5")
    one.expect_drawing("prediction", unlike=off)
    other.page.get_by_text("the whole text").click()
    other.wait_for_address(by="the whole text")
    other.settle()
    assert other.drawn("prediction") == plain
    assert visit(server).open(PLAIN).drawn("prediction") == plain
