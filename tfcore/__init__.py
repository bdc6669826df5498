"""tfcore: Transformers to look inside of. A small PyTorch library written to be read."""

from tfcore import presets as presets
from tfcore.capture import Capture as Capture
from tfcore.checkpoints import CheckpointError as CheckpointError
from tfcore.checkpoints import load as load
from tfcore.checkpoints import save as save
from tfcore.checkpoints import shipped as shipped
from tfcore.config import ModelConfig as ModelConfig
from tfcore.device import device as device
from tfcore.edits import Edit as Edit
from tfcore.generate import generate as generate
from tfcore.kv_cache import KVCache as KVCache
from tfcore.model import Output as Output
from tfcore.model import Transformer as Transformer

__version__ = "0.1.0"
