"""Holdfast's side: each case as a job, `bench/jobs.py:NAME`, with one replica per worker for 2 workers.

Models and data are named, not imported, so that the command itself need not load torch.
"""

from cases import CASES

from holdfast.job import AdamW, Job


def _job(name: str, replicas: int = 2) -> Job:
    case = CASES[name]
    return Job(
        name=name,
        model=f"models.py:{case.model}",
        model_args=dict(case.model_args),
        data=f"data.py:{case.data}",
        data_args=dict(case.data_args),
        loss="cross_entropy",
        replicas=replicas,
        batch=replicas * case.batch,
        steps=1000,
        last_batch="drop",  # as the peers do
        optimizer=AdamW(lr=1e-3),
    )


mlp_32 = _job("mlp_32")
mlp_128 = _job("mlp_128")
bag_256 = _job("bag_256")
gpt_12 = _job("gpt_12")
first_step = _job("first_step")
mlp_100m = _job("mlp_100m", replicas=4)
mlp_1gb = _job("mlp_1gb")
