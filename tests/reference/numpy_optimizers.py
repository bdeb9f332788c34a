"""Writes tests/fixtures/numpy_optimizers/: steps of the optimizers that the PyTorch of pytorch_training.py lacks, in float64, from
the papers' algorithms.

    python3 tests/reference/numpy_optimizers.py        (needs numpy and safetensors; building and testing need neither)

Three parameters, a matrix, a vector and a stack of matrices, are given gradients: `parameter/NAME` and `gradient/STEP/NAME` go
in, `after/STEP/NAME` comes out. index.json has each case's optimizer, attributes and rate. Equations are numbered as in the
papers; none of this is taken from the code that it checks.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "numpy_optimizers"
SHAPES = {"W": (5, 7), "b": (6,), "T": (2, 4, 3)}
STEPS = 4


class Lion:
    """Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, Algorithm 2."""

    def __init__(self, beta1=0.9, beta2=0.99, weight_decay=0.0):
        self.beta1, self.beta2, self.weight_decay, self.m = beta1, beta2, weight_decay, 0.0

    def step(self, theta, g, rate, t):
        c = self.beta1 * self.m + (1 - self.beta1) * g
        self.m = self.beta2 * self.m + (1 - self.beta2) * g
        return theta - rate * (np.sign(c) + self.weight_decay * theta)


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


class Adafactor:
    """Shazeer and Stern 2018, Adafactor, Algorithms 4 (matrices), 5 (vectors) and 6 (hyperparameters). `weight_decay` and a rate
    in the place of rho_t are not the paper's; momentum is that of its section 7, over the clipped updates."""

    def __init__(self, beta1=0.0, beta2_decay=0.8, epsilon1=1e-30, epsilon2=1e-3, clip=1.0, relative_step=True,
                 scale_parameter=True, weight_decay=0.0):
        self.beta1, self.decay, self.epsilon1, self.epsilon2, self.clip = beta1, beta2_decay, epsilon1, epsilon2, clip
        self.relative_step, self.scale_parameter, self.weight_decay = relative_step, scale_parameter, weight_decay
        self.r = self.c = self.v = self.m = 0.0

    def step(self, x, g, rate, t):
        rho = min(rate, 1 / np.sqrt(t)) if self.relative_step else rate
        alpha = max(self.epsilon2, rms(x)) * rho if self.scale_parameter else rho
        beta2 = 1 - t ** -self.decay
        square = np.square(g) + self.epsilon1
        if x.ndim >= 2:
            # R and C are sums in the paper; V = R C / (1' R).
            self.r = beta2 * self.r + (1 - beta2) * square.sum(axis=-1)
            self.c = beta2 * self.c + (1 - beta2) * square.sum(axis=-2)
            v = self.r[..., :, None] * self.c[..., None, :] / self.r.sum(axis=-1)[..., None, None]
        else:
            self.v = beta2 * self.v + (1 - beta2) * square
            v = self.v
        u = g / np.sqrt(v)
        u = u / max(1.0, rms(u) / self.clip)
        if self.beta1 > 0:
            self.m = self.beta1 * self.m + (1 - self.beta1) * u
            u = self.m
        return x - alpha * u - rate * self.weight_decay * x


# name -> (rule, attributes, rate)
CASES = {
    "lion": (Lion, {}, 0.01),
    "lion_decayed": (Lion, {"beta1": 0.95, "beta2": 0.98, "weight_decay": 0.3}, 0.003),
    "adafactor": (Adafactor, {}, 0.01),
    "adafactor_momentum": (Adafactor, {"beta1": 0.9, "weight_decay": 0.1}, 0.01),
    "adafactor_absolute": (Adafactor, {"relative_step": False, "scale_parameter": False, "clip": 0.5, "beta2_decay": 0.5,
                                       "epsilon1": 1e-4}, 0.05),
    "adafactor_early": (Adafactor, {"epsilon2": 0.7}, 0.8),
}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = {}
    for number, (name, (rule, attributes, rate)) in enumerate(CASES.items()):
        random = np.random.default_rng(number)
        parameters = {n: random.normal(scale=0.3, size=shape) for n, shape in SHAPES.items()}
        rules = {n: rule(**attributes) for n in SHAPES}
        tensors = {f"parameter/{n}": p.copy() for n, p in parameters.items()}
        for t in range(1, STEPS + 1):
            for n, p in parameters.items():
                g = random.normal(scale=10.0 ** random.integers(-2, 2), size=p.shape)
                tensors[f"gradient/{t}/{n}"] = g
                parameters[n] = tensors[f"after/{t}/{n}"] = rules[n].step(p, g, rate, t)
        save_file({n: np.ascontiguousarray(x) for n, x in tensors.items()}, FOLDER / f"{name}.safetensors")
        index[name] = {"optimizer": name.split("_")[0], "attributes": attributes, "rate": rate}
    (FOLDER / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
