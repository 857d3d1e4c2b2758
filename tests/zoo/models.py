"""The architectures of the zoo: small, with random weights, in float64, from five libraries."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import tests.peers.conftest  # noqa: F401

os.environ["HF_HUB_OFFLINE"] = "1"
# ruff: isort: split
import diffusers
import segmentation_models_pytorch as smp
import timm
import torch
import torchvision.models as tv
import transformers as hf
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D


def image(name: str, side: int, *, channels: int = 3) -> Callable[[int], dict[str, Any]]:
    """Square images (B, C, side, side)."""
    return lambda B: {name: torch.randn(B, channels, side, side).double()}


def tokens(B: int, length: int = 7) -> Tensor:
    """Token numbers (B, length) below 31."""
    return torch.randint(1, 31, (B, length))


#: Of the first and the second batch, which meets an ensemble that has run already.
BATCHES = (2, 1)
#: Most models' inputs.
IMAGES = image("x", 64)


def text(B: int) -> dict[str, Tensor]:
    """Token numbers and a mask that hides the last two of the first text."""
    mask = torch.ones(B, 7, dtype=torch.long)
    mask[0, -2:] = 0
    return {"input_ids": tokens(B), "attention_mask": mask}


@torch.no_grad()
def stir(model: nn.Module) -> nn.Module:
    """Move what starts at 0, at 1, or too small to show in an output: norms, layer scales, …"""
    for name, x in [*model.named_parameters(), *model.named_buffers()]:
        if name.endswith("running_var"):
            x.uniform_(0.5, 1.5)
        elif name.endswith("running_mean"):
            x.normal_(0, 0.2)
        elif isinstance(x, nn.Parameter):
            spread = x.std() if x.numel() > 1 else 0
            varied = x.ndim > 1 and spread > 1e-3 * x.abs().max()
            x.add_(torch.randn_like(x) * (spread / 3 if varied else 0.2))
    return model


@dataclass(frozen=True)
class Entry:
    """One architecture.

    Attributes
    ----------
    name
        What the table calls it; in `ZOO` with the library that it comes from.
    build
        A function that makes the model.
    head
        The last layer, for ``"last_layer"``.
    inputs
        A function of the batch size B that returns its inputs by name.
    given
        Arguments that say what becomes of matrices of the model's own, and of tied weights.
    quick
        Whether it is one of the few that run with every check.
    """

    name: str
    build: Callable[[], nn.Module]
    head: str
    inputs: Callable[[int], dict[str, Any]] = IMAGES
    given: dict[str, tuple[str | type, ...]] = field(default_factory=dict)
    quick: bool = False

    def model(self) -> nn.Module:
        """The plain model, the same whenever one asks."""
        torch.manual_seed(0)
        return stir(self.build().double().eval())

    def batch(self, number: int) -> dict[str, Any]:
        """Its inputs by name."""
        torch.manual_seed(number + 1)
        return self.inputs(BATCHES[number])


class Anchors(nn.Module):
    """RetinaNet, of a list of images, up to the scores and boxes of all anchors: what follows finds
    another number of boxes for each member."""

    def __init__(self) -> None:
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

    def forward(self, images: list[Tensor]) -> dict[str, Tensor]:
        images = self.net.transform(images)[0].tensors
        return self.net.head(list(self.net.backbone(images).values()))


class LanguageModel(nn.Module):
    """An LSTM that reads (length, B) and returns its state, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(31, 24)
        self.rnn = nn.LSTM(24, 16, 2, dropout=0.1)
        self.decoder = nn.Linear(16, 31)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Any]:
        y, state = self.rnn(self.embedding(tokens))
        return self.decoder(y), state


#: Of transformers' configurations, most of which know all of these.
SIZES = {
    "vocab_size": 31, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 48, "max_position_embeddings": 16, "use_cache": False,
}  # fmt: skip


def named(name: str, **options: Any) -> Callable[[], nn.Module]:
    """A model that timm knows by its name."""
    return lambda: timm.create_model(name, num_classes=5, **options)


#: By library.
FOUND: dict[str, tuple[Entry, ...]] = {
    "torch": (
        Entry("LSTM", LanguageModel, "decoder", lambda B: {"tokens": tokens(7, B)}, quick=True),
        Entry("Transformer", lambda: nn.Transformer(24, 2, 2, 2, 48, batch_first=True),
              "decoder.layers.1.linear2",
              lambda B: {"src": torch.randn(B, 7, 24).double(),
                         "tgt": torch.randn(B, 5, 24).double()}),
    ),
    "torchvision": (
        Entry("ResNet-18", lambda: tv.resnet18(num_classes=5), "fc"),
        Entry("EfficientNet-B0", lambda: tv.efficientnet_b0(num_classes=5), "classifier.1"),
        Entry("RegNet-X", lambda: tv.regnet_x_400mf(num_classes=5), "fc"),
        Entry("Inception v3", lambda: tv.inception_v3(
            weights=None, init_weights=True, num_classes=5, aux_logits=False,
        ), "fc", image("x", 75)),
        Entry("MobileNetV3", lambda: tv.mobilenet_v3_small(num_classes=5), "classifier.3",
              quick=True),
        Entry("DenseNet", lambda: tv.DenseNet(12, (3, 3, 3, 3), 24, num_classes=5), "classifier"),
        Entry("ConvNeXt", lambda: tv.ConvNeXt([
            tv.convnext.CNBlockConfig(16, 32, 2), tv.convnext.CNBlockConfig(32, None, 2),
        ], num_classes=5), "classifier.2"),
        Entry("ViT", lambda: tv.VisionTransformer(
            32, 8, 2, 3, 24, 48, dropout=0.1, num_classes=5,
        ), "heads.head", image("x", 32)),
        Entry("Swin", lambda: tv.SwinTransformer(
            [4, 4], 24, [2, 2], [3, 6], [4, 4], dropout=0.1, num_classes=5,
        ), "head", given={"shared": ("*.relative_position_bias_table",)}),
        Entry("SwinV2", lambda: tv.SwinTransformer(
            [4, 4], 24, [2, 2], [3, 6], [4, 4], num_classes=5,
            block=tv.swin_transformer.SwinTransformerBlockV2,
            downsample_layer=tv.swin_transformer.PatchMergingV2,
        ), "head"),
        Entry("DeepLabV3", lambda: tv.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=5,
        ), "classifier.4"),
        Entry("R3D", lambda: tv.video.resnet.VideoResNet(
            tv.video.resnet.BasicBlock, [tv.video.resnet.Conv3DSimple] * 4, [1] * 4,
            tv.video.resnet.BasicStem, num_classes=5,
        ), "fc", lambda B: {"x": torch.randn(B, 3, 5, 16, 16).double()}),
        Entry("RetinaNet, list of images", Anchors, "net.head.classification_head.cls_logits",
              lambda B: {"images": list(torch.randn(B, 3, 64, 64).double())}),
    ),
    "timm": (
        Entry("MLP-Mixer", lambda: timm.models.MlpMixer(
            num_classes=5, img_size=64, num_blocks=2, embed_dim=48, drop_rate=0.1,
            proj_drop_rate=0.1,
        ), "head", quick=True),
        Entry("DenseNet-121", named("densenet121"), "classifier"),
        Entry("MaxViT (rmlp_pico_rw)", named(
            "maxvit_rmlp_pico_rw_256", img_size=64, depths=(1, 1, 1, 1), drop_rate=0.1,
        ), "head.fc", quick=True),
        Entry("EfficientNet (tf)", named("tf_efficientnet_b0"), "classifier"),
        Entry("LeViT", named("levit_128s", img_size=64), "head.linear",
              given={"shared": ("*.attention_biases",)}),
        Entry("ViT", named("vit_tiny_patch16_224", img_size=64, depth=2, drop_rate=0.1), "head"),
        Entry("NF-RegNet", lambda: timm.models.NormFreeNet(timm.models.nfnet.NfCfg(
            (1, 1, 1, 1), (16, 32, 32, 64), stem_chs=16, group_size=8, reg=True, attn_layer="se",
            attn_kwargs={"rd_ratio": 0.5}, num_features=64,
        ), num_classes=5), "head.fc"),
        Entry("XCiT", named("xcit_nano_12_p16_224", img_size=64, embed_dim=48, depth=2), "head"),
    ),
    "segmentation-models-pytorch": (
        Entry("U-Net", lambda: smp.Unet(
            "mobilenet_v2", encoder_depth=4, encoder_weights=None,
            decoder_channels=(64, 32, 16, 8), classes=5,
        ), "segmentation_head.0", quick=True),
    ),
    "transformers": (
        Entry("BERT", lambda: hf.BertForSequenceClassification(
            hf.BertConfig(**SIZES, num_labels=5)
        ), "classifier", text, quick=True),
        Entry("DistilBERT", lambda: hf.DistilBertForSequenceClassification(
            hf.DistilBertConfig(**SIZES, hidden_dim=48, num_labels=5)
        ), "classifier", text),
        Entry("GPT-2", lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(**SIZES, bos_token_id=0, eos_token_id=0)
        ), "lm_head", text, given={"shared": ("lm_head",), "modulated": (Conv1D,)}),
        Entry("Llama", lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES)), "lm_head", text),
        Entry("Mixtral", lambda: hf.MixtralForCausalLM(hf.MixtralConfig(
            **SIZES, num_key_value_heads=3, num_local_experts=4, experts_implementation="eager",
        )), "lm_head", text, given={"modulated": ("*.mlp",)}),
        Entry("Mamba", lambda: hf.MambaForCausalLM(hf.MambaConfig(**SIZES, state_size=4)),
              "lm_head", lambda B: {"input_ids": tokens(B)},
              given={"shared": ("lm_head", "*.A_log")}),
        Entry("T5", lambda: hf.T5ForConditionalGeneration(
            hf.T5Config(**SIZES, d_kv=8, d_ff=48, num_layers=2)
        ), "lm_head", lambda B: {**text(B), "decoder_input_ids": tokens(B, 5)},
              given={"shared": ("lm_head",)}),
        Entry("wav2vec 2.0", lambda: hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(
            **SIZES, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
            num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=2,
        )), "lm_head", lambda B: {"input_values": torch.randn(B, 400).double()}),
    ),
    "diffusers": (
        Entry("UNet2DModel", lambda: diffusers.UNet2DModel(
            sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        ), "conv_out", lambda B: {**image("sample", 16)(B), "timestep": torch.arange(3, 3 + B)},
              quick=True),
        Entry("DiT", lambda: diffusers.DiTTransformer2DModel(
            num_attention_heads=3, attention_head_dim=8, in_channels=4, out_channels=4,
            num_layers=2, sample_size=8, norm_num_groups=4, num_embeds_ada_norm=31,
        ), "proj_out_2", lambda B: {
            **image("hidden_states", 8, channels=4)(B),
            "timestep": torch.arange(3, 3 + B), "class_labels": torch.arange(B),
        }),
    ),
}  # fmt: skip
ZOO = tuple(
    replace(entry, name=f"{entry.name} ({library})")
    for library, entries in FOUND.items() for entry in entries
)  # fmt: skip
