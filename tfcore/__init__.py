"""tfcore: Transformers to look inside of. A small PyTorch library written to be read."""

from tfcore import moved as moved  # first: programs of earlier releases import by old names
from tfcore import presets as presets
from tfcore.config import ModelConfig as ModelConfig
from tfcore.device import device as device
from tfcore.files import CheckpointError as CheckpointError
from tfcore.generation.generate import generate as generate
from tfcore.generation.sampling import Sampling as Sampling
from tfcore.inspection.capture import Capture as Capture
from tfcore.inspection.edits import Edit as Edit
from tfcore.kv_cache import KVCache as KVCache
from tfcore.loading.checkpoints import available as available
from tfcore.loading.checkpoints import from_transformers as from_transformers
from tfcore.loading.checkpoints import load as load
from tfcore.loading.checkpoints import save as save
from tfcore.loading.checkpoints import shipped as shipped
from tfcore.model import Output as Output
from tfcore.model import Transformer as Transformer

__version__ = "0.1.0"
