"""Settings over recorded trainings of neural networks, with real replicates and training times as costs."""

from __future__ import annotations

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.envs.table_setting import KernelLike, NoiseLike, Scaling, table_setting
from gpbandit_envs.gp import SE

__all__ = ["fcnet", "hpobench_mlp", "nasbench101", "nasbench201"]


@EntryPoint
def nasbench101(
    *,
    file: str | None = None,
    partial: bool = False,
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = "table",
) -> Setting:
    """NAS-Bench-101: find the cell of highest validation accuracy among 12,416, each trained three times.

    The subset of the BBKB paper: four inner nodes, each a convolution or a pooling. Features: 15 edge bits and 4
    operation bits, each block divided by its largest norm. Mean: validation accuracy averaged over the runs, where all
    runs are mapped to [0, 1]. Cost: training time in seconds. Arms are neighbours if one edge or one operation
    differs. The paper's appendix D.2 removes the first and the last edge bit, which are 1 in every cell, before it
    divides; both are kept here, so that d = 19 as in its main text.

    The official file has no automatic source and no published hash.

    Args:
        file: Path of the official `nasbench_only108.tfrecord`, or of a table of some of its values; None once
            `gpbandit_envs.datasets.fetch("NASBench101", file=...)` has put the official file into the cache.
        partial: Whether a file with values for only some of the cells will do; the arms are then these cells, and
            `notes["n_with_values"]` says how many they are.
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the runs, or 0.01
            if no cell has two.
        kernel: Prior on the card; if None, SE of lengthscale 100, as the BBKB paper has it without initial data.
        noise: `"table"` for one of the real runs; or a noise model, a name or a spec, Gaussian if None.
    """
    scaling: Scaling = "edges and operations to unit norm"
    options: dict[str, object] = {"partial": partial} if file is None else {"partial": partial, "file": file}
    return table_setting("NASBench101", SE(100.0), noise_std, kernel, noise, scaling=scaling, **options)


@EntryPoint
def nasbench201(
    *,
    dataset: str = "cifar10",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = "table",
) -> Setting:
    """NAS-Bench-201: find the cell of highest validation accuracy among all 15,625, each trained two or three times.

    Features: the operation of each of six edges, one-hot, divided by sqrt(6) to unit norm. Mean: validation accuracy
    averaged over the seeds, where all trainings are mapped to [0, 1]. Cost: training time in seconds. Arms are
    neighbours if the operation of one edge differs.

    Args:
        dataset: Which images: `"cifar10"`, `"cifar100"` or `"imagenet"`.
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the seeds.
        kernel: Prior on the card; if None, SE of lengthscale 1: cells that differ in one edge are 0.58 apart.
        noise: `"table"` for one of the real trainings; or a noise model, a name or a spec, Gaussian if None.
    """
    return table_setting("NASBench201", SE(1.0), noise_std, kernel, noise, scaling="to unit norm", dataset=dataset)


@EntryPoint
def fcnet(
    *,
    dataset: str = "protein-structure",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = "table",
) -> Setting:
    """FC-Net: find the best of 62,208 configurations of a two-layer network, each trained with four seeds.

    Features standardised, sizes and rates as logarithms. Mean: negative logarithm of the validation loss averaged
    over the seeds, where all trainings are mapped to [0, 1]. Cost: training time in seconds. Arms are neighbours if
    one hyperparameter differs by one level.

    Args:
        dataset: Which regression task: `"protein-structure"`, `"slice-localization"`, `"naval-propulsion"` or
            `"parkinsons-telemonitoring"`.
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the seeds.
        kernel: Prior on the card; if None, SE of lengthscale 3.
        noise: `"table"` for one of the real trainings; or a noise model, a name or a spec, Gaussian if None.
    """
    return table_setting("FCNet", SE(3.0), noise_std, kernel, noise, dataset=dataset)


@EntryPoint
def hpobench_mlp(
    *,
    dataset: str = "australian",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = "table",
) -> Setting:
    """HPOBench: find the best of 30,000 configurations of a perceptron, each trained with five seeds.

    Features standardised, all as logarithms but the depth. Mean: balanced validation accuracy averaged over the
    seeds, where all trainings are mapped to [0, 1]. Cost: training time in seconds. Arms are neighbours if one
    hyperparameter differs by one level.

    Args:
        dataset: Which of eight classification tasks; see the data's options below.
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the seeds.
        kernel: Prior on the card; if None, SE of lengthscale 2.
        noise: `"table"` for one of the real trainings; or a noise model, a name or a spec, Gaussian if None.
    """
    return table_setting("HPOBenchMLP", SE(2.0), noise_std, kernel, noise, dataset=dataset)
