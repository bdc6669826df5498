"""Where modules and functions of earlier releases stand now. A program that was saved with an old import is told in one
sentence; without this it would end in a bare ModuleNotFoundError.

Whoever moves a module adds a line to MODULES, whoever moves something out of a module that stays adds to NAMES.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

# Old module -> what does its work now: a module, or a function of a view.
MODULES = {
    "tfcore.analysis.block.ablation_and_dropout": "tfcore.views.block.residuals.measure.ablation",
    "tfcore.analysis.block.activation_functions": "tfcore.views.block.feedforward.measure.activation_functions",
    "tfcore.analysis.block.depth": "tfcore.measures.deep_networks",
    "tfcore.analysis.block.depth_findings": "tfcore.views.block.residuals.say",
    "tfcore.analysis.block.feedforward": "tfcore.views.block.feedforward.measure.layers",
    "tfcore.analysis.block.neuron_scan": "tfcore.measures.neuron_scan",
    "tfcore.analysis.block.neuron_shares": "tfcore.views.block.feedforward.measure.shares",
    "tfcore.analysis.block.neurons": "tfcore.views.block.feedforward.measure.neurons",
    "tfcore.analysis.block.normalisation": "tfcore.views.block.normalisation.measure.norms",
    "tfcore.analysis.block.pitfall_findings": "tfcore.views.pitfall_remarks",
    "tfcore.analysis.block.pitfall_tasks": "tfcore.training.pitfall_tasks",
    "tfcore.analysis.block.pitfalls": "tfcore.training.pitfalls",
    "tfcore.analysis.experts.balance": "tfcore.views.experts.balance.measure",
    "tfcore.analysis.experts.balance_findings": "tfcore.views.experts.balance.say",
    "tfcore.analysis.experts.expert_scan": "tfcore.measures.expert_scan",
    "tfcore.analysis.experts.expert_sizes": "tfcore.views.experts.routing.measure.sizes",
    "tfcore.analysis.experts.expert_tokens": "tfcore.views.experts.routing.measure.tokens",
    "tfcore.analysis.experts.routing_findings": "tfcore.views.experts.routing.say.text",
    "tfcore.analysis.experts.routing_rules": "tfcore.views.experts.routing.measure.rules",
    "tfcore.analysis.experts.shared_experts": "tfcore.views.experts.routing.measure.shared",
    "tfcore.analysis.experts.text_routing": "tfcore.views.experts.routing.measure.text_routing",
    "tfcore.analysis.familiarity": "tfcore.views.familiarity",
    "tfcore.analysis.finding": "tfcore.views.finding",
    "tfcore.analysis.foundations.attention_maps": "tfcore.views.foundations.heads.measure.attention_maps",
    "tfcore.analysis.foundations.attention_sink": "tfcore.measures.heads.sink",
    "tfcore.analysis.foundations.attention_steps": "tfcore.views.foundations.attention.measure.steps",
    "tfcore.analysis.foundations.bpe": "tfcore.views.foundations.tokens.measure.bpe",
    "tfcore.analysis.foundations.embedding_scale": "tfcore.views.foundations.tokens.measure.embedding_scale",
    "tfcore.analysis.foundations.embedding_table": "tfcore.views.foundations.tokens.measure.embedding_table",
    "tfcore.analysis.foundations.head_ranking": "tfcore.views.foundations.heads.measure.head_ranking",
    "tfcore.analysis.foundations.head_splits": "tfcore.views.foundations.heads.measure.head_splits",
    "tfcore.analysis.foundations.heads": "tfcore.views.foundations.heads.measure.head_table",
    "tfcore.analysis.foundations.learned_positions": "tfcore.views.foundations.positions.measure.learned",
    "tfcore.analysis.foundations.masks": "tfcore.views.foundations.masks.measure",
    "tfcore.analysis.foundations.part_texts": "tfcore.measures.heads.part_texts",
    "tfcore.analysis.foundations.position_effects": "tfcore.views.foundations.positions.measure.effects",
    "tfcore.analysis.foundations.protein": "tfcore.views.foundations.tokens.measure.protein",
    "tfcore.analysis.foundations.recurrence.alignment": "tfcore.training.recurrent.alignment",
    "tfcore.analysis.foundations.recurrence.alignment_findings": "tfcore.views.foundations.recurrence.say",
    "tfcore.analysis.foundations.recurrence.comparison": "tfcore.training.recurrent.comparison",
    "tfcore.analysis.foundations.recurrence.comparison_findings": "tfcore.views.foundations.recurrence.say",
    "tfcore.analysis.foundations.recurrence.gradient_findings": "tfcore.views.foundations.recurrence.say",
    "tfcore.analysis.foundations.recurrence.gradients": "tfcore.training.recurrent.gradients",
    "tfcore.analysis.foundations.recurrence.network_findings": "tfcore.views.foundations.recurrence.say",
    "tfcore.analysis.foundations.recurrence.networks": "tfcore.training.recurrent.networks",
    "tfcore.analysis.foundations.recurrence.pass_findings": "tfcore.views.foundations.recurrence.say",
    "tfcore.analysis.foundations.recurrence.passes": "tfcore.training.recurrent.passes",
    "tfcore.analysis.foundations.recurrence.real_model": "tfcore.training.recurrent.real_model",
    "tfcore.analysis.foundations.recurrence.recall": "tfcore.training.recurrent.recall",
    "tfcore.analysis.foundations.rope_and_alibi": "tfcore.views.foundations.positions.measure.scores",
    "tfcore.analysis.foundations.score_findings": "tfcore.views.foundations.heads.measure.score_table",
    "tfcore.analysis.foundations.score_parts": "tfcore.views.foundations.heads.measure.score_parts",
    "tfcore.analysis.foundations.score_scale": "tfcore.views.foundations.attention.measure.scale",
    "tfcore.analysis.foundations.score_writers": "tfcore.views.foundations.heads.measure.score_writers",
    "tfcore.analysis.foundations.signal_tokens": "tfcore.views.foundations.tokens.measure.signal_tokens",
    "tfcore.analysis.foundations.signals": "tfcore.views.foundations.tokens.measure.signals",
    "tfcore.analysis.foundations.sinusoidal_positions": "tfcore.views.foundations.positions.measure.sinusoidal",
    "tfcore.analysis.foundations.text_pieces": "tfcore.views.foundations.tokens.measure.text_pieces",
    "tfcore.analysis.foundations.token_counts": "tfcore.measures.token_counts",
    "tfcore.analysis.inference.attention_timing": "tfcore.views.inference.long_context.measure.timing",
    "tfcore.analysis.inference.beam_tree": "tfcore.views.inference.generation.measure.beam_tree",
    "tfcore.analysis.inference.cached_generation": "tfcore.views.inference.kv_cache.measure.generation",
    "tfcore.analysis.inference.conversation": "tfcore.views.inference.generation.measure.conversation",
    "tfcore.analysis.inference.decoding": "tfcore.views.inference.generation.measure.decoding",
    "tfcore.analysis.inference.flash_attention": "tfcore.views.inference.long_context.measure.flash",
    "tfcore.analysis.inference.fragmentation": "tfcore.views.inference.kv_cache.say.paging",
    "tfcore.analysis.inference.kv_cache": "tfcore.views.inference.kv_cache.say.sizes",
    "tfcore.analysis.inference.length_cost": "tfcore.views.inference.long_context.measure.patterns",
    "tfcore.analysis.inference.memory_traffic": "tfcore.views.inference.long_context.measure.traffic",
    "tfcore.analysis.inference.next_token": "tfcore.views.inference.generation.measure.next_token",
    "tfcore.analysis.inference.online_softmax": "tfcore.views.inference.long_context.measure.online_softmax",
    "tfcore.analysis.inference.paged_memory": "tfcore.views.inference.kv_cache.measure.paging",
    "tfcore.analysis.inference.quantisation.activations": "tfcore.views.inference.quantisation.measure.activations",
    "tfcore.analysis.inference.quantisation.cache_bits": "tfcore.views.inference.quantisation.measure.cache_rounding",
    "tfcore.analysis.inference.quantisation.formats": "tfcore.measures.quantisation.formats",
    "tfcore.analysis.inference.quantisation.gguf_block": "tfcore.views.inference.quantisation.measure.gguf_block",
    "tfcore.analysis.inference.quantisation.losses": "tfcore.views.inference.quantisation.measure.losses",
    "tfcore.analysis.inference.quantisation.matrices": "tfcore.measures.quantisation.matrices",
    "tfcore.analysis.inference.quantisation.speed": "tfcore.views.inference.quantisation.measure.speed",
    "tfcore.analysis.inference.quantisation.weights": "tfcore.views.inference.quantisation.measure.weights",
    "tfcore.analysis.inference.quantisation.written": "tfcore.views.inference.quantisation.measure.written",
    "tfcore.analysis.inference.ring_attention": "tfcore.views.inference.long_context.measure.ring",
    "tfcore.analysis.inference.serving": "tfcore.views.inference.kv_cache.measure.serving",
    "tfcore.analysis.inference.speculation": "tfcore.views.inference.generation.measure.speculation",
    "tfcore.analysis.inside.attribution_graphs.diagram": "tfcore.views.inside.circuits.measure.diagram",
    "tfcore.analysis.inside.attribution_graphs.effects": "tfcore.views.inside.circuits.measure.effects",
    "tfcore.analysis.inside.attribution_graphs.export": "tfcore.views.inside.circuits.measure.export",
    "tfcore.analysis.inside.attribution_graphs.graph": "tfcore.views.inside.circuits.measure.graph",
    "tfcore.analysis.inside.attribution_graphs.influence": "tfcore.views.inside.circuits.measure.influence",
    "tfcore.analysis.inside.attribution_graphs.of_text": "tfcore.views.inside.circuits.measure.of_text",
    "tfcore.analysis.inside.attribution_patching": "tfcore.views.inside.interventions.measure.patching",
    "tfcore.analysis.inside.circuits": "tfcore.views.inside.induction.measure.circuit",
    "tfcore.analysis.inside.features.feature_edits": "tfcore.views.inside.features.measure.held_feature",
    "tfcore.analysis.inside.features.feature_scan": "tfcore.measures.dictionaries.feature_scan",
    "tfcore.analysis.inside.features.grown": "tfcore.views.inside.features.say",
    "tfcore.analysis.inside.features.of_text": "tfcore.views.inside.features.measure.of_text",
    "tfcore.analysis.inside.features.one_feature": "tfcore.views.inside.features.measure.one_feature",
    "tfcore.analysis.inside.features.quality": "tfcore.measures.dictionaries.quality",
    "tfcore.analysis.inside.features.rated_sample": "tfcore.views.inside.features.measure.ratings",
    "tfcore.analysis.inside.features.readability": "tfcore.views.inside.features.say",
    "tfcore.analysis.inside.flow_columns": "tfcore.views.inside.flow.measure.columns",
    "tfcore.analysis.inside.flow_shares": "tfcore.views.inside.flow.measure.shares",
    "tfcore.analysis.inside.head_circuits": "tfcore.views.inside.circuits.measure.head_circuits",
    "tfcore.analysis.inside.head_edges": "tfcore.views.inside.circuits.measure.head_edges",
    "tfcore.analysis.inside.head_measures": "tfcore.views.inside.flow.measure.heads",
    "tfcore.analysis.inside.in_context.accuracy": "tfcore.views.inside.in_context.measure.accuracy",
    "tfcore.analysis.inside.in_context.heads": "tfcore.views.inside.in_context.measure.heads",
    "tfcore.analysis.inside.in_context.live": "tfcore.views.inside.in_context.measure.one_prompt",
    "tfcore.analysis.inside.in_context.steps": "tfcore.views.inside.in_context.measure.steps",
    "tfcore.analysis.inside.in_context.tasks": "tfcore.views.inside.in_context.measure.tasks",
    "tfcore.analysis.inside.induction_findings": "tfcore.views.inside.induction.say.find",
    "tfcore.analysis.inside.induction_heads": "tfcore.measures.heads.induction_heads",
    "tfcore.analysis.inside.information_flow": "tfcore.views.inside.flow.measure.routes",
    "tfcore.analysis.inside.input_attribution": "tfcore.views.inside.interventions.measure.input_attribution",
    "tfcore.analysis.inside.interventions": "tfcore.views.inside.changes",
    "tfcore.analysis.inside.knock_outs": "tfcore.views.inside.interventions.say",
    "tfcore.analysis.inside.logit_attribution": "tfcore.views.inside.stream.measure.parts",
    "tfcore.analysis.inside.logit_lens": "tfcore.views.inside.stream.measure.lens",
    "tfcore.analysis.inside.passages": "tfcore.views.inside.flow.measure.passages",
    "tfcore.analysis.inside.patching": "tfcore.views.inside.interventions.measure.patching",
    "tfcore.analysis.inside.phase_change": "tfcore.views.inside.induction.say.training",
    "tfcore.analysis.inside.probing.by_layer": "tfcore.views.inside.probing.measure.by_layer",
    "tfcore.analysis.inside.probing.kept": "tfcore.views.inside.probing.measure.shipped",
    "tfcore.analysis.inside.probing.logistic": "tfcore.views.inside.probing.measure.logistic",
    "tfcore.analysis.inside.probing.properties": "tfcore.views.inside.probing.measure.properties",
    "tfcore.analysis.inside.probing.sentence_pairs": "tfcore.views.inside.probing.measure.sentence_pairs",
    "tfcore.analysis.inside.probing.steering": "tfcore.views.inside.probing.measure.steering",
    "tfcore.analysis.inside.probing.tagged_text": "tfcore.views.inside.probing.measure.tagged_text",
    "tfcore.analysis.inside.probing.two_classes": "tfcore.views.inside.probing.measure.two_classes",
    "tfcore.analysis.inside.prompt_means": "tfcore.views.inside.interventions.measure.prompt_means",
    "tfcore.analysis.inside.prompt_sets": "tfcore.views.inside.interventions.measure.prompt_sets",
    "tfcore.analysis.inside.prompt_tables": "tfcore.views.inside.interventions.measure.prompt_tables",
    "tfcore.analysis.inside.quantities": "tfcore.measures.effect_metric",
    "tfcore.analysis.inside.residual_stream": "tfcore.views.inside.stream.measure.skip",
    "tfcore.analysis.inside.shared_layers": "tfcore.measures.shared_layers",
    "tfcore.analysis.inside.tuned_lens": "tfcore.views.inside.stream.say.lens",
    "tfcore.analysis.largest": "tfcore.measures.largest",
    "tfcore.analysis.model.architectures": "tfcore.views.model.architectures.measure",
    "tfcore.analysis.model.costs": "tfcore.views.model.parameters.measure",
    "tfcore.analysis.model.first_words": "tfcore.views.model.your_model.measure",
    "tfcore.analysis.model.flop_count": "tfcore.measures.flop_count",
    "tfcore.analysis.model.masked_tokens": "tfcore.measures.masked_tokens",
    "tfcore.analysis.model.memory_use": "tfcore.measures.memory_use",
    "tfcore.analysis.model.modernising": "tfcore.views.model.modern.measure",
    "tfcore.analysis.model.parameter_count": "tfcore.measures.parameter_count",
    "tfcore.analysis.model.published_sizes": "tfcore.views.model.parameters.measure",
    "tfcore.analysis.model.translation": "tfcore.measures.translation",
    "tfcore.analysis.one_text": "tfcore.measures.one_text",
    "tfcore.analysis.precision": "tfcore.measures.precision",
    "tfcore.analysis.quantities": "tfcore.measures.quantities",
    "tfcore.analysis.reference.folklore": "tfcore.views.reference.folklore.measure",
    "tfcore.analysis.reference.glossary": "tfcore.views.reference.glossary.measure",
    "tfcore.analysis.reference.history": "tfcore.views.reference.history.measure",
    "tfcore.analysis.reference.questions": "tfcore.views.reference.check.measure",
    "tfcore.analysis.scale_end": "tfcore.views.inside.scale_end",
    "tfcore.analysis.start.head_steps": "tfcore.views.start.walkthrough.measure.heads",
    "tfcore.analysis.start.walk_costs": "tfcore.views.start.walkthrough.measure.costs",
    "tfcore.analysis.start.walk_findings": "tfcore.views.start.walkthrough.say.stages",
    "tfcore.analysis.start.walk_prediction": "tfcore.views.start.walkthrough.say.prediction",
    "tfcore.analysis.start.walk_tensors": "tfcore.views.start.walkthrough.measure.tensors",
    "tfcore.analysis.start.walkthrough": "tfcore.views.start.walkthrough.measure.walk",
    "tfcore.analysis.statistics": "tfcore.measures.statistics",
    "tfcore.analysis.token_text": "tfcore.measures.token_text",
    "tfcore.analysis.training.compression": "tfcore.views.training.information.measure.compression",
    "tfcore.analysis.training.compute_budget": "tfcore.views.training.scaling.measure.compute_budget",
    "tfcore.analysis.training.entropy": "tfcore.views.training.information.measure.entropy",
    "tfcore.analysis.training.familiarity": "tfcore.views.familiarity",
    "tfcore.analysis.training.fine_tuning": "tfcore.views.training.finetuning.measure.tuning",
    "tfcore.analysis.training.kl_fit": "tfcore.views.training.information.measure.kl_fit",
    "tfcore.analysis.training.known_models": "tfcore.views.training.scaling.measure.known_models",
    "tfcore.analysis.training.ladder_fit": "tfcore.views.training.scaling.measure.ladder_fit",
    "tfcore.analysis.training.law_curves": "tfcore.views.training.scaling.measure.law_curves",
    "tfcore.analysis.training.mutual_information": "tfcore.views.training.information.measure.mutual_information",
    "tfcore.analysis.training.over_training": "tfcore.views.training.scaling.measure.over_training",
    "tfcore.analysis.training.preference": "tfcore.views.training.finetuning.measure.preference",
    "tfcore.analysis.training.scaling_laws": "tfcore.measures.scaling_laws",
    "tfcore.analysis.training.text_bits": "tfcore.views.training.information.measure.text_bits",
    "tfcore.analysis.training.text_loss": "tfcore.measures.text_loss",
    "tfcore.analysis.training.training_choices": "tfcore.views.training.lab.say.option_effects",
    "tfcore.analysis.training.training_cost": "tfcore.views.training.scaling.measure.training_cost",
    "tfcore.analysis.training.training_runs": "tfcore.views.training.lab.say.runs",
    "tfcore.analysis.twins": "tfcore.views.pitfall_remarks",
    "tfcore.figures.block.ablation_and_dropout": "tfcore.views.block.residuals.draw.ablation",
    "tfcore.figures.block.depth": "tfcore.charts.depth_curves",
    "tfcore.figures.block.feedforward": "tfcore.views.block.feedforward.draw.layers",
    "tfcore.figures.block.neurons": "tfcore.views.block.feedforward.draw.neurons",
    "tfcore.figures.block.normalisation": "tfcore.views.block.normalisation.draw.norms",
    "tfcore.figures.block.pitfalls": "tfcore.charts.twins",
    "tfcore.figures.depth_curves": "tfcore.charts.depth_curves",
    "tfcore.figures.experts.balance": "tfcore.views.experts.balance.draw",
    "tfcore.figures.experts.expert_sizes": "tfcore.views.experts.routing.draw.sizes",
    "tfcore.figures.experts.routing": "tfcore.views.experts.routing.draw.routing",
    "tfcore.figures.experts.routing_rules": "tfcore.views.experts.routing.draw.rules",
    "tfcore.figures.experts.shared_experts": "tfcore.views.experts.routing.draw.shared",
    "tfcore.figures.foundations.attention_steps": "tfcore.views.foundations.attention.draw.steps",
    "tfcore.figures.foundations.bpe": "tfcore.views.foundations.tokens.draw.merges",
    "tfcore.figures.foundations.embedding_table": "tfcore.views.foundations.tokens.draw.embeddings",
    "tfcore.figures.foundations.head_map": "tfcore.views.foundations.heads.draw.head_map",
    "tfcore.figures.foundations.head_portrait": "tfcore.views.foundations.heads.draw.portrait",
    "tfcore.figures.foundations.head_splits": "tfcore.views.foundations.heads.draw.head_splits",
    "tfcore.figures.foundations.heads": "tfcore.views.foundations.heads.draw.maps",
    "tfcore.figures.foundations.learned_positions": "tfcore.views.foundations.positions.draw.learned",
    "tfcore.figures.foundations.length_extrapolation": "tfcore.views.foundations.positions.draw.lengths",
    "tfcore.figures.foundations.masks": "tfcore.views.foundations.masks.draw",
    "tfcore.figures.foundations.position_scores": "tfcore.views.foundations.positions.draw.scores",
    "tfcore.figures.foundations.positions": "tfcore.views.foundations.positions.draw.sinusoidal",
    "tfcore.figures.foundations.protein": "tfcore.views.foundations.tokens.draw.signals",
    "tfcore.figures.foundations.recurrence": "tfcore.views.foundations.recurrence.draw",
    "tfcore.figures.foundations.score_parts": "tfcore.views.foundations.heads.draw.score_parts",
    "tfcore.figures.foundations.score_scale": "tfcore.views.foundations.attention.draw.scale",
    "tfcore.figures.foundations.signal_tokens": "tfcore.views.foundations.tokens.draw.signals",
    "tfcore.figures.guesses": "tfcore.charts.guesses",
    "tfcore.figures.inference.attention_timing": "tfcore.views.inference.long_context.draw.timing",
    "tfcore.figures.inference.beam_tree": "tfcore.views.inference.generation.draw.beam_tree",
    "tfcore.figures.inference.cache_sizes": "tfcore.views.inference.kv_cache.draw.sizes",
    "tfcore.figures.inference.cache_steps": "tfcore.views.inference.kv_cache.draw.steps",
    "tfcore.figures.inference.conversation": "tfcore.views.inference.generation.draw.conversation",
    "tfcore.figures.inference.flash_attention": "tfcore.views.inference.long_context.draw.flash",
    "tfcore.figures.inference.length_cost": "tfcore.views.inference.long_context.draw.cost",
    "tfcore.figures.inference.next_token": "tfcore.views.inference.generation.draw.next_token",
    "tfcore.figures.inference.online_softmax": "tfcore.views.inference.long_context.draw.online_softmax",
    "tfcore.figures.inference.paged_memory": "tfcore.views.inference.kv_cache.draw.memory",
    "tfcore.figures.inference.quantised_cache": "tfcore.views.inference.quantisation.draw.cache_rounding",
    "tfcore.figures.inference.quantised_losses": "tfcore.views.inference.quantisation.draw.losses",
    "tfcore.figures.inference.quantised_weights": "tfcore.views.inference.quantisation.draw.weights",
    "tfcore.figures.inference.ring_attention": "tfcore.views.inference.long_context.draw.ring",
    "tfcore.figures.inference.sparse_attention": "tfcore.views.inference.long_context.draw.patterns",
    "tfcore.figures.inference.speculation": "tfcore.views.inference.generation.draw.speculation",
    "tfcore.figures.inference.text_likelihood": "tfcore.views.inference.generation.draw.text_likelihood",
    "tfcore.figures.inside.attribution_graphs": "tfcore.views.inside.circuits.draw.features",
    "tfcore.figures.inside.boards": "tfcore.charts.boards",
    "tfcore.figures.inside.circuits": "tfcore.views.inside.induction.draw.circuit",
    "tfcore.figures.inside.dictionary_training": "tfcore.views.inside.features.draw",
    "tfcore.figures.inside.features": "tfcore.views.inside.features.draw",
    "tfcore.figures.inside.head_circuits": "tfcore.views.inside.circuits.draw.edges",
    "tfcore.figures.inside.in_context": "tfcore.views.inside.in_context.draw",
    "tfcore.figures.inside.induction_heads": "tfcore.views.inside.induction.draw.find",
    "tfcore.figures.inside.information_flow": "tfcore.views.inside.flow.draw.shares",
    "tfcore.figures.inside.input_attribution": "tfcore.views.inside.interventions.draw",
    "tfcore.figures.inside.interventions": "tfcore.views.inside.interventions.draw",
    "tfcore.figures.inside.logit_lens": "tfcore.views.inside.stream.draw.lens",
    "tfcore.figures.inside.phase_change": "tfcore.views.inside.induction.draw.training",
    "tfcore.figures.inside.probing": "tfcore.views.inside.probing.draw",
    "tfcore.figures.inside.prompt_sets": "tfcore.views.inside.interventions.draw",
    "tfcore.figures.inside.residual_stream": "tfcore.views.inside.stream.draw.parts",
    "tfcore.figures.inside.sentence_pairs": "tfcore.views.inside.probing.draw",
    "tfcore.figures.inside.steering": "tfcore.views.inside.probing.draw",
    "tfcore.figures.model.architectures": "tfcore.views.model.architectures.draw",
    "tfcore.figures.model.modernising": "tfcore.views.model.modern.draw",
    "tfcore.figures.model.parameters": "tfcore.views.model.parameters.draw",
    "tfcore.figures.model.your_model": "tfcore.views.model.your_model.draw",
    "tfcore.figures.oklab": "tfcore.charts.oklab",
    "tfcore.figures.panels": "tfcore.charts.panels",
    "tfcore.figures.ranges": "tfcore.charts.ranges",
    "tfcore.figures.reference.answers": "tfcore.views.reference.check.draw",
    "tfcore.figures.reference.folklore": "tfcore.views.reference.folklore.draw",
    "tfcore.figures.reference.history": "tfcore.views.reference.history.draw",
    "tfcore.figures.shown": "tfcore.views.view",
    "tfcore.figures.start.walkthrough": "tfcore.views.start.walkthrough.draw",
    "tfcore.figures.theme": "tfcore.charts.theme",
    "tfcore.figures.tiles": "tfcore.charts.tiles",
    "tfcore.figures.tokens": "tfcore.charts.tokens",
    "tfcore.figures.training.entropy": "tfcore.views.training.information.draw.entropy",
    "tfcore.figures.training.fine_tuning": "tfcore.views.training.finetuning.draw.tuning",
    "tfcore.figures.training.kl_fit": "tfcore.views.training.information.draw.kl_fit",
    "tfcore.figures.training.known_models": "tfcore.views.training.scaling.draw.known_models",
    "tfcore.figures.training.ladder": "tfcore.views.training.scaling.draw.ladder",
    "tfcore.figures.training.mutual_information": "tfcore.views.training.information.draw.mutual_information",
    "tfcore.figures.training.over_training": "tfcore.views.training.scaling.draw.over_training",
    "tfcore.figures.training.preference": "tfcore.views.training.finetuning.draw.preference",
    "tfcore.figures.training.scaling": "tfcore.views.training.scaling.draw.scaling",
    "tfcore.figures.training.text_bits": "tfcore.views.training.information.draw.text_bits",
    "tfcore.figures.training.training_choices": "tfcore.views.training.lab.draw.option_effects",
    "tfcore.figures.training.training_cost": "tfcore.views.training.scaling.draw.training_cost",
    "tfcore.figures.training.training_runs": "tfcore.views.training.lab.draw.runs",
    "tfcore.generation.kv_cache": "tfcore.kv_cache",
    "tfcore.inspection.tuned_lens": "tfcore.inspection.affine_lens",
    "tfcore.loading.families.settings": "tfcore.loading.families.config_values",
    "tfcore.loading.tuned_lenses": "tfcore.loading.lenses",
    "tfcore.tokenizers.typed": "tfcore.tokenizers.typed_text",
    "tfcore.training.kept": "tfcore.training.resumed_state",
    "tfcore.training.lab.choices": "tfcore.training.lab.option_effects",
    "tfcore.training.lab.files": "tfcore.training.lab.model_file",
    "tfcore.training.lab.words": "tfcore.training.lab.setting_words",
    "tfcore.training.recurrence": "tfcore.training.recurrent.side_by_side",
    "tfcore.views.block.normalisation.draw.training": "tfcore.views.block.normalisation.draw.early_training",
    "tfcore.views.block.normalisation.measure.training": "tfcore.views.block.normalisation.measure.early_training",
    "tfcore.views.foundations.attention.words": "tfcore.views.foundations.attention.word_pairs",
    "tfcore.views.foundations.heads.measure.attention_sink": "tfcore.measures.heads.sink",
    "tfcore.views.inference.quantisation.draw.cache": "tfcore.views.inference.quantisation.draw.cache_rounding",
    "tfcore.views.inference.quantisation.measure.cache": "tfcore.views.inference.quantisation.measure.cache_rounding",
    "tfcore.views.inside.features.measure.edits": "tfcore.views.inside.features.measure.held_feature",
    "tfcore.views.inside.in_context.measure.live": "tfcore.views.inside.in_context.measure.one_prompt",
    "tfcore.views.training.lab.draw.choices": "tfcore.views.training.lab.draw.option_effects",
    "tfcore.views.training.lab.say.choices": "tfcore.views.training.lab.say.option_effects",
}
# Module -> where its names are now -> these names. A module of the table above may be here as well.
NAMES = {
    "tfcore.training.recurrent.comparison": {"tfcore.training.alike": "DIGITS ComparisonEvaluation repeats_of"},
    "tfcore.training.recurrent.networks": {"tfcore.training.alike_loop": "logits_of"},
    "tfcore.training.recurrent.side_by_side": {
        "tfcore.training.alike_loop": "BETAS WARMUP CLIP LOOKS cross_entropy look_at"
    },
    "tfcore.views.foundations.recurrence.draw": {
        "tfcore.charts.alike": "Against AGAINST FEW course_figure place_figure column"
    },
    "tfcore.views.foundations.recurrence.say": {"tfcore.views.alike": "held_out_accuracy Learned learned seed_spread"},
    "tfcore.analysis.block.ablation_and_dropout": {
        "tfcore.views.block.residuals.measure.dropout": "DRAWS dropout DropoutDraws draw_dropout two_passes",
        "tfcore.views.block.residuals.say": (
            "ChosenSubset chosen_subset single_ablations dropout_count dropout_means TwoPasses"
        ),
    },
    "tfcore.analysis.block.depth": {
        "tfcore.views.block.normalisation.measure.early_training": (
            "RUN_VOCAB RUN_SEQ RUN_ROWS RUN_STEPS ADAM_BETAS LEARNED_SHARE have_learned uniform_loss "
            "previous_token_batch learning_rate first_losses train_side_by_side first_steps all_first_steps run_name "
            "curves_of"
        ),
        "tfcore.views.block.normalisation.say": "FirstSteps describe_first_steps",
    },
    "tfcore.analysis.block.depth_findings": {
        "tfcore.measures.quantities": "few_digits",
        "tfcore.views.block.normalisation.say": ("LastGradients last_gradients last_sizes GradientFall gradient_fall"),
    },
    "tfcore.analysis.block.feedforward": {
        "tfcore.measures.block_parameters": "LayerCost layer_cost BlockShare block_share"
    },
    "tfcore.analysis.block.neurons": {"tfcore.measures.neuron_scan": "Snippet snippets activation_words"},
    "tfcore.analysis.block.normalisation": {
        "tfcore.views.block.normalisation.say": "norm_divisors AxisChanges axis_changes"
    },
    "tfcore.analysis.experts.expert_scan": {
        "tfcore.views.experts.routing.measure.tokens": "Order Preferred preferred count_text ExpertTokens",
        "tfcore.views.experts.routing.say.tokens": (
            "ALWAYS OF Specialisation specialisation scanned_share excerpt_title TokenDecides token_decides"
        ),
    },
    "tfcore.analysis.experts.expert_sizes": {
        "tfcore.views.experts.routing.say.sizes": (
            "ActiveParameters active_parameters LayerOfExperts BatchUse batch_use count_latex"
        )
    },
    "tfcore.analysis.experts.expert_tokens": {
        "tfcore.views.experts.routing.say.tokens": (
            "ALWAYS OF Specialisation specialisation scanned_share excerpt_title TokenDecides token_decides"
        )
    },
    "tfcore.analysis.experts.routing_rules": {
        "tfcore.views.experts.routing.say.rules": (
            "largest_loss_change RuleEffect rule_effect RuleTotals rule_totals sweep_ends"
        )
    },
    "tfcore.analysis.experts.shared_experts": {
        "tfcore.views.experts.routing.say.shared": "SharedShares shared_shares share_titles Ablations ablations"
    },
    "tfcore.analysis.experts.text_routing": {"tfcore.measures.expert_scan": "ExpertLoad load_over_texts"},
    "tfcore.analysis.foundations.attention_maps": {
        "tfcore.views.foundations.heads.say": "shared_weight",
        "tfcore.measures.heads.maps": "NAMES AttentionMaps attention_maps",
    },
    "tfcore.analysis.foundations.attention_sink": {
        "tfcore.views.foundations.heads.measure.attention_maps": "HiddenSink",
        "tfcore.views.foundations.heads.say": "RolloutOnFirst rollout_on_first",
    },
    "tfcore.analysis.foundations.attention_steps": {
        "tfcore.measures.information": "entropy_bits",
        "tfcore.views.foundations.attention.measure.similarity": "Measure TokenSimilarity token_similarity",
        "tfcore.views.foundations.attention.say": (
            "Attended EQUAL attended SoftmaxWeights softmax_weights EmbeddingPair embedding_pair ScorePair score_pair "
            "ClosestTokens closest_tokens"
        ),
    },
    "tfcore.analysis.foundations.bpe": {
        "tfcore.views.foundations.tokens.say.text": (
            "merge_result pieces_by_merges NextMerge next_merge learned_length PairChosen pair_chosen "
            "Shortening shortening"
        )
    },
    "tfcore.analysis.foundations.embedding_scale": {
        "tfcore.views.foundations.tokens.say.embeddings": "scaled_lengths recognised"
    },
    "tfcore.analysis.foundations.embedding_table": {
        "tfcore.measures.statistics": "principal_components",
        "tfcore.views.foundations.tokens.say.embeddings": (
            "NearestTokens nearest_tokens MapShare map_share RowLengths row_lengths published_vocabularies"
        ),
    },
    "tfcore.analysis.foundations.head_ranking": {
        "tfcore.views.foundations.heads.say": "strongest_heads kinds_of_heads",
        "tfcore.measures.heads.kinds": "TEXTS",
    },
    "tfcore.analysis.foundations.head_splits": {
        "tfcore.views.foundations.heads.say": (
            "SplitMaps split_maps sharing_loss sharing_variants sharing_refusal trained_sharing"
        )
    },
    "tfcore.analysis.foundations.heads": {
        "tfcore.views.foundations.heads.say": "HeadKind head_kind HeadKinds head_kinds same_kind heads_of_models",
        "tfcore.measures.heads.kinds": (
            "KINDS CROSS_KINDS THRESHOLD NEAR SMALL_VOCABULARY Place HeadScores score_heads mean_scores targets "
            "score_cross mean_weight RepeatedTokens repeated_tokens induction_scores repeated_tokens_measure"
        ),
    },
    "tfcore.analysis.foundations.learned_positions": {
        "tfcore.views.foundations.positions.say": "learning table_attention component_share previous_weights"
    },
    "tfcore.analysis.foundations.masks": {
        "tfcore.measures.leaks": "Leak masked_outputs leak_test replacement_for",
        "tfcore.measures.mask_cost": "MaskCost mask_cost",
        "tfcore.views.foundations.masks.say": "AllowedPairs blocked_weight LeakComparison twin_losses",
    },
    "tfcore.analysis.foundations.position_effects": {
        "tfcore.views.foundations.positions.say": (
            "mean_distances shuffle_changes output_change shuffle_test losses_and_rises smallest_and_largest_rise"
        )
    },
    "tfcore.analysis.foundations.recurrence.networks": {"tfcore.views.foundations.recurrence.say": "equal_sizes"},
    "tfcore.analysis.foundations.recurrence.passes": {
        "tfcore.views.foundations.recurrence.say": "ParallelGain parallel_gain"
    },
    "tfcore.analysis.foundations.recurrence.real_model": {"tfcore.views.foundations.recurrence.say": "real_reach"},
    "tfcore.analysis.foundations.rope_and_alibi": {
        "tfcore.views.foundations.positions.say": "rotary_pairs rotary_products head_bias head_reach slope_range"
    },
    "tfcore.analysis.foundations.score_findings": {
        "tfcore.views.foundations.heads.say": "ScoreSum score_sum StrongestWriters strongest_writers"
    },
    "tfcore.analysis.foundations.score_scale": {
        "tfcore.measures.product_spread": "WIDTHS SIGMAS BINS products_by_width ProductSpread product_spread",
        "tfcore.views.foundations.attention.say": (
            "ProductVariance product_variance variance_by_width saturation_means theory_at"
        ),
    },
    "tfcore.analysis.foundations.signal_tokens": {
        "tfcore.measures.token_counts": "patch_count frame_count tokens_of_frames window_count",
        "tfcore.views.foundations.tokens.say.signals": (
            "PictureCut picture_cut patch_vector spectrogram FrameOverlap speech_tokens series_windows"
        ),
    },
    "tfcore.analysis.foundations.signals": {
        "tfcore.measures.token_counts": "RATE",
        "tfcore.views.foundations.tokens.say.signals": "ColumnReport column_report",
    },
    "tfcore.analysis.foundations.sinusoidal_positions": {
        "tfcore.views.foundations.positions.say": (
            "table_periods pair_periods wavelength_range shift_products shift_error"
        )
    },
    "tfcore.analysis.foundations.text_pieces": {
        "tfcore.measures.token_pieces": "TextPieces Aligned cut_text is_text",
        "tfcore.views.foundations.tokens.say.text": (
            "TextSizes text_sizes ChangedText changed_text tokens_of_texts characters_per_token"
        ),
    },
    "tfcore.analysis.foundations.token_counts": {"tfcore.views.foundations.tokens.say.signals": "SequenceCost cost_at"},
    "tfcore.analysis.inference.attention_timing": {
        "tfcore.measures.timing": "on_cpu milliseconds",
        "tfcore.views.inference.long_context.say.timing": "FusedSpeed fused_speed bytes_at_once NAMES",
    },
    "tfcore.analysis.inference.beam_tree": {
        "tfcore.views.inference.generation.say": "SAME_SCORE BeamSummary beam_summary BeamScores beam_scores"
    },
    "tfcore.analysis.inference.conversation": {
        "tfcore.views.inference.generation.say": "RoleCosts role_costs AnswerEnd answer_end"
    },
    "tfcore.analysis.inference.decoding": {
        "tfcore.views.inference.generation.say": "TextScore TextScores text_score text_scores"
    },
    "tfcore.analysis.inference.flash_attention": {
        "tfcore.views.inference.long_context.say.pieces": ("tile_place rescaling tile_scores")
    },
    "tfcore.analysis.inference.kv_cache": {
        "tfcore.measures.kv_bytes": (
            "Sharing GROUPED CacheShape DEEPSEEK_V2 DEEPSEEK_V2_PARAMETERS cache_shape cache_bytes shared "
            "grouped_heads even_parts ways"
        )
    },
    "tfcore.analysis.inference.length_cost": {
        "tfcore.views.inference.long_context.measure.cost": "GPU",
        "tfcore.views.inference.long_context.say.cost": (
            "ScoreMatrix score_matrix Operations operations LayerMemory layer_memory crossings"
        ),
        "tfcore.views.inference.long_context.say.patterns": "pattern_reach pairs_at_length model_reach",
    },
    "tfcore.analysis.inference.memory_traffic": {
        "tfcore.views.inference.long_context.say.traffic": ("Moved moved against_sram MovedSoFar moved_so_far")
    },
    "tfcore.analysis.inference.next_token": {
        "tfcore.views.inference.generation.say": "filter_cuts Draw where_drawn ranks"
    },
    "tfcore.analysis.inference.online_softmax": {
        "tfcore.measures.head_vectors": "HeadVectors TextVectors text_vectors head_vectors",
        "tfcore.views.inference.long_context.say.pieces": "RowState RowProgress row_progress Difference",
    },
    "tfcore.analysis.inference.quantisation.activations": {
        "tfcore.measures.quantisation.rounded_activations": (
            "Scale INPUTS OUTLIER ActivationScheme outlier_channels rounded_activations activation_edits"
        )
    },
    "tfcore.analysis.inference.quantisation.cache_bits": {
        "tfcore.measures.quantisation.rounded_cache": "Axis GROUP CacheScheme rounded_cache cache_edits"
    },
    "tfcore.analysis.inference.ring_attention": {
        "tfcore.views.inference.long_context.say.pieces": ("ring_step meetings StillToCome still_to_come load_balance")
    },
    "tfcore.analysis.inference.speculation": {"tfcore.views.inference.generation.say": "acceptance_found draft_token"},
    "tfcore.analysis.inside.attribution_graphs.diagram": {"tfcore.views.inside.circuits.say": "largest_node node_sum"},
    "tfcore.analysis.inside.attribution_graphs.effects": {
        "tfcore.views.inside.circuits.say": "measure_name predicted_against_measured"
    },
    "tfcore.analysis.inside.attribution_graphs.influence": {"tfcore.views.inside.circuits.say": "graph_scores"},
    "tfcore.analysis.inside.attribution_patching": {
        "tfcore.measures.attribution_patching": "FirstOrder first_order part_names part_effects estimate_effects",
        "tfcore.views.inside.interventions.say": "estimated_shares estimate_against_exact",
    },
    "tfcore.analysis.inside.circuits": {
        "tfcore.measures.heads.compositions": (
            "INPUTS DRAWS NUMBERS Composition HeadWeights frobenius compose head_weights compositions composition "
            "random_draws random_composition theory"
        ),
        "tfcore.views.inside.induction.say.circuit": (
            "highest_composition drawn_pairs CircuitComposition circuit_composition patched_losses decisive_input"
        ),
    },
    "tfcore.analysis.inside.features.grown": {
        "tfcore.measures.dictionaries.growth": (
            "NAMED SEED DictionaryMoment closest_features chance_cosine GrownFeatures grown_features"
        )
    },
    "tfcore.analysis.inside.features.of_text": {
        "tfcore.loading.transcoders": "chosen_dictionary",
        "tfcore.views.inside.features.say": "strongest_feature",
    },
    "tfcore.analysis.inside.features.one_feature": {"tfcore.views.inside.features.say": "FeatureFires feature_fires"},
    "tfcore.analysis.inside.features.rated_sample": {
        "tfcore.views.inside.features.say": "rated_sample phrases_elsewhere"
    },
    "tfcore.analysis.inside.flow_shares": {"tfcore.measures.logit_attribution": "stream_direction"},
    "tfcore.analysis.inside.head_circuits": {
        "tfcore.views.inside.circuits.say": "BASELINES edge_estimates faithfulness largest_edges largest_estimates"
    },
    "tfcore.analysis.inside.head_measures": {"tfcore.views.inside.flow.say": "SMALL HeadMeasures compare"},
    "tfcore.analysis.inside.in_context.accuracy": {
        "tfcore.views.inside.in_context.say": "Accuracy accuracy LabelsMatter labels_matter"
    },
    "tfcore.analysis.inside.in_context.heads": {"tfcore.views.inside.in_context.say": "TOP HeadsAgree heads_agree"},
    "tfcore.analysis.inside.in_context.steps": {
        "tfcore.views.inside.in_context.say": "StepsHelp steps_help step_errors"
    },
    "tfcore.analysis.inside.induction_findings": {
        "tfcore.views.inside.induction.say.circuit": (
            "NEARER BestInductionHead best_induction_head RankOfHead rank_of_head"
        )
    },
    "tfcore.analysis.inside.information_flow": {"tfcore.views.inside.flow.say": "how_drawn Story whole_of story"},
    "tfcore.analysis.inside.input_attribution": {
        "tfcore.views.inside.interventions.say": "completeness method_agreement removed known_so_far"
    },
    "tfcore.analysis.inside.interventions": {
        "tfcore.measures.text_loss": "next_losses",
        "tfcore.measures.interventions": (
            "Effect effect EditedRun run_edited effect_between run_each Action ABLATIONS Part parts_of "
            "read_parts edits_for ablated continue_text changed part_title written compared_tokens"
        ),
    },
    "tfcore.analysis.inside.knock_outs": {
        "tfcore.measures.knock_outs": (
            "ROUNDING SMALL operations LayerEffects knock_out_each all_effects merged without_rounding strongest_head"
        )
    },
    "tfcore.analysis.inside.logit_attribution": {
        "tfcore.measures.lenses": "unembedding check_model",
        "tfcore.measures.logit_attribution": (
            "Against WRITTEN Contributions logit_direction frozen_norm Parts written stream_parts parts_at "
            "block_parts bias_of contributions promoted_by measured"
        ),
        "tfcore.views.inside.stream.say.parts": "LogitSum logit_sum largest_instalment largest_part",
    },
    "tfcore.analysis.inside.logit_lens": {
        "tfcore.measures.lenses": "lens_logits stage_states",
        "tfcore.views.inside.stream.say.lens": (
            "correct_by_stage correct_at_ends correct_on_the_way "
            "embedding_predicts_input ProbabilityByStage probability_by_stage"
        ),
    },
    "tfcore.analysis.inside.patching": {
        "tfcore.measures.counterfactual": "counterfactual",
        "tfcore.views.inside.interventions.say": "patched_words patched_shares where_it_is",
    },
    "tfcore.analysis.inside.phase_change": {
        "tfcore.measures.heads.induction_moments": (
            "SHOWN APART Moment places in_context_score moment best_key_composition"
        ),
        "tfcore.views.inside.induction.measure.training": "loss_fall",
    },
    "tfcore.analysis.inside.probing.by_layer": {"tfcore.views.inside.probing.say": "readable class_read"},
    "tfcore.analysis.inside.probing.sentence_pairs": {"tfcore.views.inside.probing.say": "similarity token_share"},
    "tfcore.analysis.inside.probing.steering": {"tfcore.views.inside.probing.say": "steered_next collapse"},
    "tfcore.analysis.inside.probing.two_classes": {"tfcore.views.inside.probing.say": "told_apart projected"},
    "tfcore.analysis.inside.prompt_means": {"tfcore.views.inside.interventions.say": "set_metric largest_means"},
    "tfcore.analysis.inside.quantities": {"tfcore.views.inside.scale_end": "NAMED ScaleEnd scale_end"},
    "tfcore.analysis.inside.residual_stream": {
        "tfcore.measures.lenses": "stages stage_names",
        "tfcore.views.inside.stream.measure.shape": "Measure AXES StreamShape angles stream_shape",
        "tfcore.views.inside.stream.say.shape": "stream_curve written_norms largest_turn",
        "tfcore.views.inside.stream.say.skip": "loss_increases",
    },
    "tfcore.analysis.inside.tuned_lens": {
        "tfcore.measures.lenses": "affine_reader divergence LensReading compare_lenses mean_divergences"
    },
    "tfcore.analysis.model.architectures": {
        "tfcore.views.model.architectures.say": "NAMED allowed_pairs StrongestSource strongest_source largest_weights"
    },
    "tfcore.analysis.model.costs": {
        "tfcore.views.model.parameters": "compared",
        "tfcore.views.model.parameters.say": "MemoryFound memory_found BuiltAgain parameters_found",
        "tfcore.views.model.your_model.measure": "Need needs free_now",
        "tfcore.views.model.your_model.say": "ModelsThatFit models_that_fit",
    },
    "tfcore.analysis.model.first_words": {
        "tfcore.measures.one_text": "is_finite",
        "tfcore.views.model.your_model.say": "first_token",
    },
    "tfcore.analysis.model.modernising": {
        "tfcore.training.modernisation": "SWITCHES first_of",
        "tfcore.views.model.modern.say": (
            "SwitchEffect switch_effect WORTH_NAMING SizeChanges size_changes LossChanges loss_changes trained_models"
        ),
    },
    "tfcore.analysis.model.parameter_count": {
        "tfcore.views.model.parameters.measure": "PublishedSizes published_sizes"
    },
    "tfcore.analysis.reference.folklore": {
        "tfcore.views.reference.folklore.say": "EXACT_TEXT ROUGH_TEXT verdict_counts all_verdicts"
    },
    "tfcore.analysis.reference.history": {
        "tfcore.views.reference.history.say": "entries_shown recent_share length_range with_year"
    },
    "tfcore.analysis.reference.questions": {
        "tfcore.views.reference.check.say": "guessed_rounds answer_text drawn_of_100"
    },
    "tfcore.analysis.start.head_steps": {"tfcore.views.start.walkthrough.say.stages": "strongest_keys"},
    "tfcore.analysis.start.walk_costs": {"tfcore.views.start.walkthrough.say.words": "values_for_words"},
    "tfcore.analysis.start.walk_prediction": {"tfcore.views.start.walkthrough.measure.walk": "with_next_token"},
    "tfcore.analysis.training.compression": {
        "tfcore.views.familiarity": "FAR LEAST Familiarity held_out_bits familiarity"
    },
    "tfcore.analysis.training.compute_budget": {
        "tfcore.views.training.scaling.say.compute_budget": (
            "tokens_per_parameter BudgetSplit budget_split rule_ratios AGREEING agreed_ratio"
        )
    },
    "tfcore.analysis.training.entropy": {
        "tfcore.measures.information": (
            "SUM_ERROR weighted_logs entropy cross_entropy divergence_terms kl_divergence perplexity "
            "check_probabilities"
        ),
        "tfcore.views.training.information.say.entropy": (
            "bits_text EntropyNumbers entropy_numbers EntropyIdentity entropy_identity divergence_sums "
            "TokenLoss loss_of_token loss_table loss_of_mixture"
        ),
    },
    "tfcore.analysis.training.fine_tuning": {
        "tfcore.training.finetuning_runs": "Method METHODS RATES ALPHA RANKS FineTuneConfig Losses FineTuned"
    },
    "tfcore.analysis.training.kl_fit": {
        "tfcore.views.training.information.say.kl_fit": ("fitted_bumps kl_minima own_bump minus fit_table")
    },
    "tfcore.analysis.training.known_models": {
        "tfcore.views.training.scaling.say.known_models": ("ModelFacts model_facts ratio_range size_range")
    },
    "tfcore.analysis.training.ladder_fit": {
        "tfcore.views.training.scaling.say.ladder_fit": (
            "LargestRung largest_rung LadderErrors ladder_errors LadderExponents ladder_exponents"
        )
    },
    "tfcore.analysis.training.law_curves": {
        "tfcore.views.training.scaling.say.law_curves": (
            "LossParts loss_parts DueToSizeAndData due_to_size_and_data frontier_exponent"
        )
    },
    "tfcore.analysis.training.mutual_information": {
        "tfcore.views.training.information.say.mutual_information": (
            "SharedInformation shared_information three_ways cell_sum pair_count"
        )
    },
    "tfcore.analysis.training.over_training": {
        "tfcore.views.training.scaling.say.over_training": ("OverTraining over_training extra_loss cheapest_lifetime")
    },
    "tfcore.analysis.training.preference": {
        "tfcore.training.preference_runs": (
            "Algorithm RewardName ALGORITHMS REWARD_NAMES ALGORITHM_NAMES BETAS ANIMAL_WORDS HAPPY_WORDS ANIMALS "
            "HAPPY LONGEST words_of names_animals ends_happily is_short REWARDS repetition PreferenceConfig Sampled "
            "PreferenceRun"
        )
    },
    "tfcore.analysis.training.text_bits": {
        "tfcore.measures.text_loss": "LN2 WINDOW Framed framed TextBits text_bits",
        "tfcore.views.training.information.say.text_bits": (
            "TextCost text_cost PerplexityLandmarks perplexity_landmarks FirstToken first_token TokenSurprisal "
            "token_surprisal first_guess concentration"
        ),
    },
    "tfcore.analysis.training.training_choices": {
        "tfcore.training.lab.options": "PLAIN SCHEDULES OPTIMISERS Rates Updates Norms"
    },
    "tfcore.analysis.training.training_cost": {
        "tfcore.views.training.scaling.say.training_cost": (
            "reached_peak duration energy PlannedCost planned_cost one_gpu furthest_from_rule"
        )
    },
    "tfcore.analysis.training.training_runs": {
        "tfcore.training.lab.curves": "CHECKED STEPPED Curves look by_place free_running"
    },
    "tfcore.figures.block.ablation_and_dropout": {
        "tfcore.views.block.residuals.draw.dropout": "MEAN_BINS NUMBERS_DRAWN dropout_figure dropout_means_figure"
    },
    "tfcore.figures.block.depth": {
        "tfcore.views.block.normalisation.draw.early_training": "first_steps_figure",
        "tfcore.views.block.residuals.draw.layers": "layers_figure",
    },
    "tfcore.figures.block.neurons": {"tfcore.charts.promoted": "promoted_figure"},
    "tfcore.figures.block.normalisation": {"tfcore.charts.panels": "PANEL_GAP column_domain heading"},
    "tfcore.figures.foundations.heads": {"tfcore.charts.tiles": "tiles"},
    "tfcore.figures.foundations.masks": {"tfcore.charts.ranges": "round_up"},
    "tfcore.figures.foundations.positions": {
        "tfcore.charts.heatmaps": "heatmap square_axes hundredths side_by_side",
        "tfcore.charts.kit": "line",
    },
    "tfcore.figures.inside.interventions": {
        "tfcore.charts.before_after": "before_after",
        "tfcore.charts.part_by_token": "MOST_NUMBERS part_by_token",
        "tfcore.measures.quantities": "percent",
    },
    "tfcore.figures.inside.residual_stream": {
        "tfcore.views.inside.stream.draw.shape": "FAR_ABOVE LABELLED label_every curves writes_figure"
    },
    "tfcore.figures.model.parameters": {
        "tfcore.charts.components": "COLOURS BYTES",
        "tfcore.views.model.parameters.measure": "bytes_of",
    },
    "tfcore.linear": {"tfcore.onednn": "linear"},
    "tfcore.loading.weights": {
        "tfcore.files": (
            "CheckpointError MAX_JSON_BYTES MAX_TOKENIZER_BYTES MOST_VALUES check_file read_json read_text size"
        )
    },
    "tfcore.masks": {
        "tfcore.measures.mask_patterns": (
            "MaskConfig FUNCTIONS Kind build prefix_lm window_and_global dilated block_sparse"
        )
    },
    "tfcore.model": {"tfcore.input_checks": "check_vocabulary"},
    "tfcore.tokenizers.tokenizer": {"tfcore.tokenizers.foreign": "load_tokenizer"},
    "tfcore.views.model.your_model.measure": {"tfcore.measures.one_text": "is_finite"},
    "tfcore.views.foundations.heads.measure.attention_sink": {
        "tfcore.views.foundations.heads.measure.attention_maps": "HiddenSink"
    },
}


def sentence(old: str, new: str) -> str:
    """The sentence that a program with an old import ends in."""
    return f"{old} has moved: import it from {new}"


def place(module: str, name: str) -> str | None:
    """The module to which a name of `module` has moved; None if it has not."""
    return next((new for new, names in NAMES.get(module, {}).items() if name in names.split()), None)


class _Loader(SourceFileLoader):
    """Loads a module of which names have moved."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; it answers for what it no longer has."""
        super().exec_module(module)

        def answer(name: str) -> object:
            new = place(module.__name__, name)
            if new is None:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            raise ImportError(sentence(f"{module.__name__}.{name}", new))

        module.__getattr__ = answer  # type: ignore[method-assign]


class Finder:
    """Answers, before all other finders, for what the tables name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that has moved; None for all others.

        Raises:
            ImportError: the module has moved; the message says where to.
        """
        if name in MODULES:
            others = [f"{words} from {new}" for new, words in NAMES.get(name, {}).items()]
            raise ImportError("; ".join([sentence(name, MODULES[name]), *others]), name=name)
        if name in NAMES:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.origin is not None:
                spec.loader = _Loader(name, spec.origin)
            return spec
        if any(old.startswith(f"{name}.") for old in MODULES) and PathFinder.find_spec(name, path, target) is None:
            return ModuleSpec(name, None, is_package=True)  # a package that is gone, so that its modules are asked for
        return None


def tell() -> None:
    """Let imports of what has moved end in a sentence."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


tell()  # the first that is imported of tfcore: what follows may have lost names
