"""Settings over recorded trainings of neural networks, with real replicates and training times as costs."""

from __future__ import annotations

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.envs.table_setting import KernelLike, NoiseLike, table_setting
from gpbandit_envs.gp import SE

__all__ = ["fcnet", "hpobench_mlp", "nasbench201"]


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
