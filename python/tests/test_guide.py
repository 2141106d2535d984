"""What docs/from-python.md shows is what happens."""

import doctest
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "from-python.md"


def test_guide():
    blocks = "".join(re.findall(r"^```pycon\n(.*?)^```$", GUIDE.read_text(), re.M | re.S))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "from-python.md", str(GUIDE), 0)
    assert len(test.examples) > 10
    assert doctest.DocTestRunner().run(test).failed == 0


def test_module():
    import neardup

    assert doctest.testmod(neardup).failed == 0
