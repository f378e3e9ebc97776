"""Results of the tutorial's own model for the case `facts`, in single precision on a CPU."""
import math

LEARNING_RATES = [1e-3, 9.938441703e-4, 9.755282581e-4, 9.455032621e-4, 9.045084972e-4]
LOSSES = [1.014368534, 1.011316538, 0.987069368, 0.978268266, 0.972817421]
LOSSES_DOUBLE = [1.014368392, 1.011316359, 0.987069337, 0.978268195, 0.972817372]  # in double precision
LOSS_AFTER = 0.969106495
PARAMETERS = 76656
OUTPUT_FIRST = [-0.151681796, 0.181382582, -0.208158463, 0.231577367]
OUTPUT_L2 = 13.34957172
GRADIENT_L2 = 1.00498329
GRADIENTS_L2 = {
    "pos_embed": 3.4555593e-2, "patch_embed.proj.weight": 0.91444216, "blocks.0.attn.q.weight": 1.1971178e-4,
    "blocks.1.mlp.fc2.weight": 7.7131487e-2, "norm.weight": 8.2485553e-3, "head.weight": 0.12950001,
}
RMSE = [0.7176917, 0.7168165, 0.7171106]
ACC = [-0.0011683, 0.0016909, -0.0008890]


def compare_with_tutorial(gold, single):
    """Prints the results of the reference model and of the tutorial, and fails on the first that differs too much."""
    gradients = {name: gradient.double() for name, gradient in single["gradients"].items()}
    compare("parameters", [sum(w.numel() for w in gold["weights"].values())], [PARAMETERS], 0)
    compare("learning rates", gold["rates"], LEARNING_RATES, 1e-12)
    compare("losses", single["losses"], LOSSES, 3e-7)
    compare("losses in double", gold["losses"], LOSSES_DOUBLE, 1e-9)
    compare("loss after", [single["loss_after"]], [LOSS_AFTER], 3e-7)
    compare("output, first", single["output"].flatten()[:4].tolist(), OUTPUT_FIRST, 3e-7)
    compare("output, l2", [single["output"].double().norm().item()], [OUTPUT_L2], 1e-6)
    compare("gradient, l2", [math.sqrt(sum(g.square().sum() for g in gradients.values()))], [GRADIENT_L2], 3e-7)
    for name, expected in GRADIENTS_L2.items():
        compare(f"gradient, l2: {name}", [gradients[name].norm().item()], [expected], 1e-6 * expected)
    compare("RMSE", single["rmse"].tolist(), RMSE, 1e-7)
    compare("ACC", single["acc"].tolist(), ACC, 1e-7)


def compare(what, actual, expected, tolerance):
    """Compares numbers of one kind. The tolerance is absolute: a few units in the last place of single precision."""
    error = max(abs(a - e) for a, e in zip(actual, expected, strict=True))
    print(f"{what:38} {' '.join(f'{a:.10g}' for a in actual)}  (tutorial: {' '.join(f'{e:.10g}' for e in expected)})")
    if not error <= tolerance:
        raise SystemExit(f"{what}: differs from the tutorial by {error:.1e}, more than {tolerance:.1e}")
