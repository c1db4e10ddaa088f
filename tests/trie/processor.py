"""What can be expected of the processor that the tests run on."""

import torch

SAME_BITS = torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()
"""Whether its products are known to have the same bits in any batch: others were not measured."""
