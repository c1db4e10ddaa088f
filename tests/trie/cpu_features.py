"""What the tests can expect of the CPU that they run on."""

import torch

SAME_BITS = torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()
"""Whether products have the same bits in any batch; measured only on CPUs with these features."""
