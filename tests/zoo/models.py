"""The architectures of the zoo: small, with random weights, in float64, from five libraries."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import diffusers
import segmentation_models_pytorch as smp
import timm
import torch
import torchvision.models as tv
import transformers as hf
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm


@dataclass(frozen=True)
class Entry:
    """One architecture.

    Attributes
    ----------
    name, library
        What the table calls it, and where it comes from.
    build
        A function that makes the model.
    inputs
        A function of the batch size B that returns its inputs by name.
    head
        The last layer, for ``"last_layer"``.
    shared
        What all members must share, where a method cannot do without.
    quick
        Whether it is one of the few that run with every check.
    """

    name: str
    library: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], dict[str, Any]]
    head: str
    shared: tuple[str | type, ...] = ()
    quick: bool = False


def image(name: str, side: int, *, channels: int = 3) -> Callable[[int], dict[str, Any]]:
    """Square images (B, C, side, side)."""
    return lambda B: {name: torch.randn(B, channels, side, side, dtype=torch.float64)}


def tokens(B: int, length: int = 7) -> Tensor:
    """Token numbers (B, length) below 31."""
    return torch.randint(1, 31, (B, length))


def text(B: int) -> dict[str, Tensor]:
    """Token numbers and a mask that hides the last two of the first text."""
    mask = torch.ones(B, 7, dtype=torch.long)
    mask[0, -2:] = 0
    return {"input_ids": tokens(B), "attention_mask": mask}


class Anchors(nn.Module):
    """RetinaNet up to the scores and boxes of all anchors: what follows finds another number of
    boxes for each member."""

    def __init__(self, *, listed: bool) -> None:
        super().__init__()
        body = tv.detection.backbone_utils.resnet_fpn_backbone(
            backbone_name="resnet18", weights=None, trainable_layers=5, returned_layers=[3, 4]
        )
        sizes = tuple((side,) for side in (16, 32, 64))  # an anchor a position and level
        self.net = tv.detection.RetinaNet(
            body,
            num_classes=5,
            min_size=64,
            max_size=64,
            anchor_generator=tv.detection.anchor_utils.AnchorGenerator(sizes, ((1.0,),) * 3),
        )
        self.listed = listed

    def forward(self, images: Any) -> dict[str, Tensor]:
        if self.listed:
            images = self.net.transform(images)[0].tensors
        return self.net.head(list(self.net.backbone(images).values()))


#: Of a transformer in the style of BERT, for all that are.
SIZES = {
    "vocab_size": 31,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 48,
}


ZOO = (
    Entry(
        "ResNet-18",
        "torchvision",
        lambda: tv.resnet18(num_classes=5),
        image("x", 64),
        "fc",
    ),
    Entry(
        "EfficientNet-B0",
        "torchvision",
        lambda: tv.efficientnet_b0(num_classes=5),
        image("x", 64),
        "classifier.1",
    ),
    Entry(
        "RegNet-X", "torchvision", lambda: tv.regnet_x_400mf(num_classes=5), image("x", 64), "fc"
    ),
    Entry(
        "Inception v3",
        "torchvision",
        lambda: tv.inception_v3(weights=None, init_weights=True, num_classes=5, aux_logits=False),
        image("x", 75),
        "fc",
    ),
    Entry(
        "MobileNetV3",
        "torchvision",
        lambda: tv.mobilenet_v3_small(num_classes=5),
        image("x", 64),
        "classifier.3",
        quick=True,
    ),
    Entry(
        "DenseNet",
        "torchvision",
        lambda: tv.DenseNet(12, (3, 3, 3, 3), 24, num_classes=5),
        image("x", 64),
        "classifier",
    ),
    Entry(
        "ConvNeXt",
        "torchvision",
        lambda: tv.ConvNeXt(
            [tv.convnext.CNBlockConfig(16, 32, 2), tv.convnext.CNBlockConfig(32, None, 2)],
            num_classes=5,
        ),
        image("x", 64),
        "classifier.2",
        shared=("*.layer_scale",),
    ),
    Entry(
        "ViT",
        "torchvision",
        lambda: tv.VisionTransformer(32, 8, 2, 3, 24, 48, dropout=0.1, num_classes=5),
        image("x", 32),
        "heads.head",
        shared=("class_token", "*.pos_embedding", nn.MultiheadAttention),
    ),
    Entry(
        "Swin",
        "torchvision",
        lambda: tv.SwinTransformer([4, 4], 24, [2, 2], [3, 6], [4, 4], dropout=0.1, num_classes=5),
        image("x", 64),
        "head",
        shared=("*.attn",),
    ),
    Entry(
        "SwinV2",
        "torchvision",
        lambda: tv.SwinTransformer(
            [4, 4],
            24,
            [2, 2],
            [3, 6],
            [4, 4],
            num_classes=5,
            block=tv.swin_transformer.SwinTransformerBlockV2,
            downsample_layer=tv.swin_transformer.PatchMergingV2,
        ),
        image("x", 64),
        "head",
        shared=("*.attn",),
    ),
    Entry(
        "DeepLabV3",
        "torchvision",
        lambda: tv.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=5
        ),
        image("x", 64),
        "classifier.4",
    ),
    Entry(
        "R3D-18",
        "torchvision",
        lambda: tv.video.r3d_18(num_classes=5),
        lambda B: {"x": torch.randn(B, 3, 5, 16, 16, dtype=torch.float64)},
        "fc",
        shared=(nn.Conv3d,),
    ),
    Entry(
        "RetinaNet",
        "torchvision",
        lambda: Anchors(listed=False),
        image("images", 64),
        "net.head.classification_head.cls_logits",
    ),
    Entry(
        "RetinaNet, list of images",
        "torchvision",
        lambda: Anchors(listed=True),
        lambda B: {"images": list(torch.randn(B, 3, 64, 64, dtype=torch.float64))},
        "net.head.classification_head.cls_logits",
    ),
    Entry(
        "MLP-Mixer",
        "timm",
        lambda: timm.models.MlpMixer(
            num_classes=5,
            img_size=64,
            num_blocks=2,
            embed_dim=48,
            drop_rate=0.1,
            proj_drop_rate=0.1,
        ),
        image("x", 64),
        "head",
        quick=True,
    ),
    Entry(
        "DenseNet-121",
        "timm",
        lambda: timm.create_model("densenet121", num_classes=5),
        image("x", 64),
        "classifier",
    ),
    Entry(
        "MaxViT (rmlp_pico_rw)",
        "timm",
        lambda: timm.create_model(
            "maxvit_rmlp_pico_rw_256",
            img_size=64,
            depths=(1, 1, 1, 1),
            num_classes=5,
            drop_rate=0.1,
        ),
        image("x", 64),
        "head.fc",
        shared=("*.rel_pos",),
        quick=True,
    ),
    Entry(
        "EfficientNet (tf)",
        "timm",
        lambda: timm.create_model("tf_efficientnet_b0", num_classes=5),
        image("x", 64),
        "classifier",
    ),
    Entry(
        "LeViT",
        "timm",
        lambda: timm.create_model("levit_128s", img_size=64, num_classes=5),
        image("x", 64),
        "head.linear",
        shared=("*.attention_biases",),
    ),
    Entry(
        "ViT",
        "timm",
        lambda: timm.create_model(
            "vit_tiny_patch16_224", img_size=64, depth=2, num_classes=5, drop_rate=0.1
        ),
        image("x", 64),
        "head",
        shared=("cls_token", "pos_embed"),
    ),
    Entry(
        "U-Net",
        "segmentation-models-pytorch",
        lambda: smp.Unet(
            "mobilenet_v2",
            encoder_depth=4,
            encoder_weights=None,
            decoder_channels=(64, 32, 16, 8),
            classes=5,
        ),
        image("x", 64),
        "segmentation_head.0",
        quick=True,
    ),
    Entry(
        "BERT",
        "transformers",
        lambda: hf.BertForSequenceClassification(
            hf.BertConfig(**SIZES, max_position_embeddings=16, num_labels=5)
        ),
        text,
        "classifier",
        quick=True,
    ),
    Entry(
        "DistilBERT",
        "transformers",
        lambda: hf.DistilBertForSequenceClassification(
            hf.DistilBertConfig(
                vocab_size=31,
                dim=24,
                n_layers=2,
                n_heads=3,
                hidden_dim=48,
                max_position_embeddings=16,
                num_labels=5,
            )
        ),
        text,
        "classifier",
    ),
    Entry(
        "GPT-2",
        "transformers",
        lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(
                vocab_size=31,
                n_embd=24,
                n_layer=2,
                n_head=3,
                n_positions=16,
                bos_token_id=0,
                eos_token_id=0,
                use_cache=False,
            )
        ),
        text,
        "lm_head",
    ),
    Entry(
        "Llama",
        "transformers",
        lambda: hf.LlamaForCausalLM(
            hf.LlamaConfig(**SIZES, max_position_embeddings=16, use_cache=False)
        ),
        text,
        "lm_head",
        shared=(LlamaRMSNorm,),
    ),
    Entry(
        "T5",
        "transformers",
        lambda: hf.T5ForConditionalGeneration(
            hf.T5Config(
                vocab_size=31,
                d_model=24,
                d_kv=8,
                d_ff=48,
                num_layers=2,
                num_heads=3,
                use_cache=False,
            )
        ),
        lambda B: {**text(B), "decoder_input_ids": tokens(B, 5)},
        "lm_head",
        shared=(T5LayerNorm, "lm_head", "*.wo"),
    ),
    Entry(
        "wav2vec 2.0",
        "transformers",
        lambda: hf.Wav2Vec2ForCTC(
            hf.Wav2Vec2Config(
                **SIZES,
                conv_dim=(16, 16),
                conv_stride=(5, 2),
                conv_kernel=(10, 3),
                num_conv_pos_embeddings=6,
                num_conv_pos_embedding_groups=2,
            )
        ),
        lambda B: {"input_values": torch.randn(B, 400, dtype=torch.float64)},
        "lm_head",
        shared=(nn.Conv1d, "*.masked_spec_embed"),
    ),
    Entry(
        "UNet2DModel",
        "diffusers",
        lambda: diffusers.UNet2DModel(
            sample_size=16,
            block_out_channels=(16, 32),
            layers_per_block=1,
            norm_num_groups=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        ),
        lambda B: {**image("sample", 16)(B), "timestep": torch.arange(3, 3 + B)},
        "conv_out",
        quick=True,
    ),
)
