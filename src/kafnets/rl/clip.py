"""Moving pictures of trained policies."""

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from stable_baselines3.common.vec_env import VecNormalize

from kafnets.files import written_at_once
from kafnets.randomness import own_randomness
from kafnets.rl.agent import Agent
from kafnets.rl.environments import environment, normalize_as
from kafnets.train.runs import CONFIG, RunFolder

FORMATS = (".webp", ".gif", ".png")
"""Those that move, and that browsers show. WebP is the smallest by far."""

CAPTION = 18
"""Pixels above the picture."""


def write_clip(
    runs: Sequence[Path],
    output: Path,
    *,
    seconds: float = 10.0,
    size: int = 240,
    frames_a_second: int = 25,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Let trained policies act without their noise, side by side, and write what is to be seen.

    Args:
        runs: run folders of ``kafnets reproduce rl`` that still have their weights.
        output: the file; its ending says which format: .webp, .gif or .png.
        seconds: how long it is at most. An episode that ends is followed by the next.
        size: height and width of each picture.
        frames_a_second: how often a picture is taken.
        say: is told about progress.
    """
    if output.suffix.lower() not in FORMATS:
        raise ValueError(f"output must end in {', '.join(FORMATS)}, got {output.name!r}")
    if not runs:
        raise ValueError("runs must be at least one run folder, got none")
    films = []
    for path in runs:
        say(f"acting: {path}")
        with own_randomness():
            films.append(list(_film(path, round(seconds * frames_a_second), size, frames_a_second)))
    say("writing")
    frames = [Image.fromarray(np.concatenate(together, axis=1)) for together in zip(*films, strict=True)]
    kind = output.suffix.lower().removeprefix(".")
    with written_at_once(output) as temporary:
        frames[0].save(
            temporary,
            format=kind,
            save_all=True,
            append_images=frames[1:],
            duration=round(1000 / frames_a_second),
            loop=0,
            **({"quality": 70, "method": 4} if kind == "webp" else {}),
        )


def trained_agent(path: Path) -> tuple[Agent, dict[str, Any]]:
    """The agent of a finished run, with its weights, and the run's config."""
    folder = RunFolder(path)
    try:
        config = folder.config()
    except FileNotFoundError:
        raise ValueError(f"{path} is not a run folder: it has no {CONFIG}") from None
    if config.get("experiment") != "rl":
        raise ValueError(f"{path} holds no policy: give a run folder of kafnets reproduce rl")
    weights = folder.weights()
    agent = Agent(
        config["data"], config["activation"], tuple(config["hidden"]), config["options"], config["seed"]
    )
    agent.model.policy.load_state_dict(weights["policy"])
    normalize_as(agent.env, weights["statistics"])
    return agent, config


def _film(path: Path, count: int, size: int, frames_a_second: int) -> Iterator[NDArray[np.uint8]]:
    agent, config = trained_agent(path)
    env = _drawn(config["data"], agent.model.gamma, size)
    env.obs_rms, env.training, env.norm_reward = agent.env.obs_rms, False, False
    env.seed(config["seed"])
    observation: Any = env.reset()
    reward, time = 0.0, 0.0
    step = float(env.get_attr("dt")[0])
    try:
        for frame in range(count):
            yield _captioned(_picture(env), f"{config['label']}: reward {reward:,.0f}")
            while time < (frame + 1) / frames_a_second:
                action, _ = agent.model.predict(observation, deterministic=True)
                observation, rewards, ended, _ = env.step(action)
                reward = 0.0 if ended[0] else reward + float(rewards[0])
                time += step
    finally:
        env.close()


def _drawn(name: str, gamma: float, size: int) -> VecNormalize:
    """An environment that can be seen."""
    # Mesa's drivers and Triton each bring an LLVM, and a process in which Mesa's comes first dies when an
    # optimizer asks for Triton's later on.
    importlib.import_module("torch._dynamo")
    screen = {"DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"} & os.environ.keys()
    if sys.platform == "linux" and not screen:
        os.environ["MUJOCO_GL"] = "egl"  # or Gymnasium would look for a screen
    try:
        env = environment(name, gamma=gamma, render_mode="rgb_array", width=size, height=size)
        env.reset()
        _picture(env)
    except Exception as error:  # every graphics library fails in its own way
        raise OSError(
            f"rendering failed ({error}): it needs a graphics library that works without a display, such "
            f"as Debian's libegl1 or libosmesa6; MUJOCO_GL=egl or MUJOCO_GL=osmesa selects it"
        ) from error
    finally:
        if sys.platform == "linux" and not screen:
            del os.environ["MUJOCO_GL"]
    return env


def _picture(env: VecNormalize) -> NDArray[np.uint8]:
    return np.asarray(env.venv.envs[0].render(), dtype=np.uint8)  # type: ignore[attr-defined]


def _captioned(picture: NDArray[np.uint8], text: str) -> NDArray[np.uint8]:
    image = Image.new("RGB", (picture.shape[1], picture.shape[0] + CAPTION), "white")
    image.paste(Image.fromarray(picture), (0, CAPTION))
    ImageDraw.Draw(image).text((4, 3), text, fill="black")
    return np.asarray(image)
