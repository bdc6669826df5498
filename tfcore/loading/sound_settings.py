"""How a folder of `transformers` makes what a model reads of a sound: preprocessor_config.json has to say what
tfcore.sounds does."""

from pathlib import Path

from tfcore.config import ModelConfig
from tfcore.files import CheckpointError, read_json
from tfcore.loading.families.config_values import ConfigValues
from tfcore.loading.picture_settings import PROCESSOR
from tfcore.sounds import HOP, N_FFT, RATE


def check_sounds_of(folder: Path, config: ModelConfig) -> None:
    """Refuses a folder that makes spectrograms in another way than they are made here; a model of texts, and a folder
    that says nothing, are let through.

    Raises:
        CheckpointError: the file is damaged or too large, or says what is not done here.
    """
    path, sound = folder / PROCESSOR, config.sound
    if sound is None or not path.is_file():
        return
    said = ConfigValues(read_json(path))
    asked = {
        "feature_size": sound.mels,
        "sampling_rate": RATE,
        "n_fft": N_FFT,
        "hop_length": HOP,
        "chunk_length": sound.frames * HOP / RATE,  # seconds
        "padding_value": 0,
        "dither": 0,
        "do_normalize": False,
    }
    try:
        for name, value in asked.items():
            said.only(name, value)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
