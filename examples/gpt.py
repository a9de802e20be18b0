"""A character GPT on the text of Python's own standard library: a job written in Python instead of TOML.

holdfast run examples/gpt.py --workers 2
holdfast run examples/gpt.py --workers 2 --set train.steps=3000 --set model.args.layers=6
holdfast check examples/gpt.py     # prints the same job as TOML would have it
"""

import holdfast as hf

CONTEXT = 64

job = hf.Job(
    name="gpt",
    model="gpt",
    model_args={"layers": 4, "heads": 4, "width": 128, "dropout": 0.1},
    data="stdlib_text",
    data_args={"context": CONTEXT, "max_bytes": 1_000_000},
    replicas=4,
    batch=48,
    steps=300,
    clip_norm=1.0,
    optimizer=hf.AdamW(
        lr=2e-3,
        betas=(0.9, 0.95),
        weight_decay=0.1,
        # Decay pulls weights towards zero; for biases and the scales of norms that is no virtue.
        groups=(hf.Group(match="*.bias", weight_decay=0.0), hf.Group(match="*norm.weight", weight_decay=0.0)),
    ),
    schedule=hf.Cosine(warmup_steps=30, min_ratio=0.1),
    evaluate={"every_steps": 100},
)
