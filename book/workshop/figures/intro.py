"""What the introduction says of its figures."""

# What to try with the trainer.
TRIES = (
    {
        "ask": "Set the members to 1. How wide is the inner band, which shows how far they differ?",
        "set": {"ensemble_size": 1},
        "answer": "None: 1 member cannot disagree.",
    },
    {
        "ask": "Set them to 16, and let them train. Where do they differ most?",
        "set": {"ensemble_size": 16, "start": "different"},
        "steps": 500,
        "answer": "With 16, where there is no point.",
    },
    {
        "ask": "With 16 members, start all the same: what is left?",
        "set": {"ensemble_size": 16, "start": "same"},
        "answer": "Nothing: one start, one network.",
    },
)

# Captions.
SHARE = (
    "Four networks that learned the same points, and what they store; the large matrices are drawn "
    "to scale. Guess, drag the slider, and watch what is stored and what the curves do in the gap "
    "(gray)."
)
ALT = (
    "Four networks side by side, each with the curve that it learned and a large square of weights "
    "below it. A slider moves the four squares into one gray square, and each member keeps two "
    "thin strips."
)
DOUBT = (
    "One network does not tell you that it has seen no point in the gap. Add members, and doubt "
    "appears there: the inner band is how far they differ, the outer one adds the noise of the "
    "points. Both are ± 2 standard deviations."
)
