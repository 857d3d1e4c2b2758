r"""The members of an ensemble on several processes, with ``torch.distributed``.

`ShardedEnsemble` keeps some members on each process. A step of a deep ensemble then needs no
communication, a step of a BatchEnsemble or a rank-1 BNN sums the gradient of the shared weights,
once. Weights, losses and predictions are those of one process, on any number of processes.

A script trains such an ensemble on scikit-learn's digits, or on a file of yours, and goes on after
a process was killed; ``--help`` lists its options. torchrun sets ``OMP_NUM_THREADS`` to 1::

    torchrun --nproc-per-node 2 --max-restarts 3 \
        -m ensedu.torch.train.distributed --checkpoint runs/a

The same in your own program, with `ensedu.torch.train.checkpoints`::

    with process_group() as device:
        ensemble = ShardedEnsemble(mlp([64, 64, 10], "rank1", 4).to(device), seed=0)
        optimizer = torch.optim.Adam(ensemble.parameters())
        done = resume("runs/b", ensemble, optimizer, missing_ok=True).step
        for step in range(done, 1000):
            x, y = batch(step)                                 # the same on all processes
            outputs = ensemble(x, step)                        # (own members, B, 10)
            losses = torch.stack([cross_entropy(logits, y) for logits in outputs])
            optimizer.zero_grad()
            (ensemble.mean_part(losses) + ensemble.kl() / examples).backward()
            ensemble.reduce_gradients()
            optimizer.step()
        save("runs/b", ensemble, optimizer, 1000)
        members = ensemble.gather(ensemble(x, 1000))           # (4, B, 10)
"""

from ensedu.torch.train.distributed.group import process_group
from ensedu.torch.train.distributed.shards import ShardedEnsemble, members_of

__all__ = ["ShardedEnsemble", "members_of", "process_group"]
