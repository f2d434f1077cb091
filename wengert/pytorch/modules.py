"""PyTorch's modules, by the package after `torch.` that holds them.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch 2.13.0.
"""


def entries(text: str) -> dict[str, str]:
    """What stands behind each path, whose further lines are indented."""
    lines = text.strip().replace("\n    ", " ").splitlines()
    return {path: names for path, _, names in (line.partition(": ") for line in lines)}


COMPARED = "2.13.0"
MODULES = entries("""
: _C _VF __config__ __future__ _appdirs _awaits _classes _compile _custom_op _custom_ops
    _decomp _dispatch _dynamo _environment _export _functorch _guards _higher_order_ops
    _inductor _jit_internal _lazy _library _linalg_utils _lobpcg _logging _lowrank
    _meta_registrations _native _numpy _opaque_base _ops _prims _prims_common
    _python_dispatcher _refs _size_docs _sources _storage_docs _streambase _strobelight
    _subclasses _tensor _tensor_docs _tensor_iterator _tensor_str _thread_safe_fork
    _torch_docs _utils _utils_internal _vendor _vmap_internals _weights_only_unpickler
    accelerator amp ao autograd backends compiler contrib cpu cuda distributed distributions
    export fft func functional futures fx hub jit library linalg masked monitor mps mtia
    multiprocessing nativert nested nn numa onnx optim overrides package profiler
    quantization quasirandom random return_types serialization signal sparse special storage
    testing torch_version types utils version xpu
_C: _VariableFunctions _acc _aoti _autograd _cpu _distributed _distributed_autograd
    _distributed_c10d _distributed_rpc _dynamo _export _fft _functionalization _functorch
    _instruction_counter _itt _jit _jit_tree_views _lazy _lazy_ts_backend _linalg _monitor
    _nativert _nested _nn _onnx _profiler _return_types _sparse _special _te _verbose cpp
_C._dynamo: autograd_compiler eval_frame guards utils
_C._export: pt2_archive_constants
_C.cpp: nn
accelerator: _utils graphs memory
amp: autocast_mode grad_scaler
ao: nn ns pruning quantization
ao.nn: intrinsic qat quantizable quantized sparse
ao.nn.intrinsic: modules qat quantized
ao.nn.intrinsic.modules: fused
ao.nn.intrinsic.qat: modules
ao.nn.intrinsic.qat.modules: conv_fused linear_fused linear_relu
ao.nn.intrinsic.quantized: dynamic modules
ao.nn.intrinsic.quantized.dynamic: modules
ao.nn.intrinsic.quantized.dynamic.modules: linear_relu
ao.nn.intrinsic.quantized.modules: bn_relu conv_add conv_relu linear_relu
ao.nn.qat: dynamic modules
ao.nn.qat.dynamic: modules
ao.nn.qat.dynamic.modules: linear
ao.nn.qat.modules: conv embedding_ops linear
ao.nn.quantizable: modules
ao.nn.quantizable.modules: activation rnn
ao.nn.quantized: dynamic functional modules reference
ao.nn.quantized.dynamic: modules
ao.nn.quantized.dynamic.modules: conv linear rnn
ao.nn.quantized.modules: activation batchnorm conv dropout embedding_ops functional_modules
    linear normalization rnn utils
ao.nn.quantized.reference: modules
ao.nn.quantized.reference.modules: conv linear rnn sparse utils
ao.nn.sparse: quantized
ao.nn.sparse.quantized: dynamic linear utils
ao.nn.sparse.quantized.dynamic: linear
ao.ns: _numeric_suite _numeric_suite_fx fx
ao.ns.fx: graph_matcher graph_passes mappings n_shadows_utils ns_types pattern_utils
    qconfig_multi_mapping utils weight_utils
ao.pruning: _experimental _mappings scheduler sparsifier
ao.pruning.scheduler: base_scheduler cubic_scheduler lambda_scheduler
ao.pruning.sparsifier: base_sparsifier nearly_diagonal_sparsifier utils
    weight_norm_sparsifier
ao.quantization: _correct_bias _equalize _learnable_fake_quantize backend_config
    fake_quantize fuse_modules fuser_method_mappings fx observer qconfig qconfig_mapping
    quant_type quantization_mappings quantize quantize_fx quantize_jit stubs utils
ao.quantization.backend_config: _common_operator_config_utils _qnnpack_pt2e backend_config
    executorch fbgemm native onednn qnnpack tensorrt utils x86
ao.quantization.fx: _decomposed _equalize _lower_to_native_backend _model_report convert
    custom_config fuse fuse_handler graph_module lower_to_fbgemm lower_to_qnnpack lstm_utils
    match_utils pattern_utils prepare qconfig_mapping_utils quantize_handler tracer utils
autograd: _functions anomaly_mode forward_ad function functional grad_mode gradcheck graph
    profiler profiler_legacy profiler_util variable
backends: _coreml _nnapi cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack
    openmp opt_einsum python_native quantized xeon xnnpack
backends.cudnn: rnn
backends.xeon: run_cpu
compiler: _cache config
contrib: _tensorboard_vis
cpu: amp
cpu.amp: autocast_mode grad_scaler
cuda: _annotate_cuda_graph_trace _device_limits _gpu_trace _graph_annotations _memory_viz
    _pin_memory_utils _sanitizer _utils amp comm gds graphs green_contexts jiterator memory
    nccl nvtx profiler random sparse streams tunable
cuda.amp: autocast_mode common grad_scaler
distributed: _checkpointable _composable _composable_state _dist2 _functional_collectives
    _functional_collectives_impl _local_tensor _mesh_layout _meta_registrations _ops _pycute
    _serialization _shard _sharded_tensor _sharding_spec _state_dict_utils _symmetric_memory
    _tensor _tools algorithms argparse_util autograd c10d_logger checkpoint collective_utils
    config constants debug device_mesh distributed_c10d elastic flight_recorder fsdp launch
    launcher logging_handlers nn optim pipelining remote_device rendezvous rpc run tensor
    utils
distributed.algorithms: _checkpoint _comm_hooks _optimizer_overlap _quantization
    ddp_comm_hooks join model_averaging
distributed.algorithms.ddp_comm_hooks: ddp_zero_hook debugging_hooks default_hooks
    mixed_precision_hooks optimizer_overlap_hooks post_localSGD_hook powerSGD_hook
    quantization_hooks
distributed.algorithms.model_averaging: averagers hierarchical_model_averager utils
distributed.checkpoint: _async_executor _async_process_executor _async_thread_executor
    _checkpointer _consolidate_hf_safetensors _dedup_save_plans _dedup_tensors _experimental
    _extension _fsspec_filesystem _hf_utils _nested_dict _pg_transport _sharded_tensor_utils
    _state_dict_stager _storage_utils _traverse _version api default_planner filesystem
    format_utils hf_storage logger logging_handlers metadata optimizer planner
    planner_helpers quantized_hf_storage resharding staging state_dict state_dict_loader
    state_dict_saver stateful storage utils
distributed.debug: _debug_handlers _frontend _handlers _store
distributed.elastic: agent control_plane events metrics multiprocessing rendezvous timer
    utils
distributed.elastic.agent: server
distributed.elastic.agent.server: api health_check_server local_elastic_agent
distributed.elastic.events: api handlers
distributed.elastic.metrics: api
distributed.elastic.multiprocessing: api errors redirects subprocess_handler tail_log
distributed.elastic.multiprocessing.errors: error_handler handlers
distributed.elastic.multiprocessing.subprocess_handler: handlers subprocess_handler
distributed.elastic.rendezvous: _etcd_stub api c10d_rendezvous_backend dynamic_rendezvous
    etcd_rendezvous etcd_rendezvous_backend etcd_server etcd_store registry
    static_tcp_rendezvous utils
distributed.elastic.timer: api debug_info_logging file_based_local_timer local_timer
distributed.elastic.utils: api data distributed log_level logging process_state store
distributed.elastic.utils.data: cycling_iterator elastic_distributed_sampler
distributed.flight_recorder: components fr_trace
distributed.flight_recorder.components: builder config_manager fr_logger loader types utils
distributed.fsdp: _common_utils _debug_utils _dynamo_utils _exec_order_utils _flat_param
    _fsdp_extensions _fully_shard _init_utils _limiter_utils _optim_utils _runtime_utils
    _shard_utils _state_dict_utils _trace_utils _traversal_utils _unshard_param_utils
    _wrap_utils api fully_sharded_data_parallel sharded_grad_scaler wrap
distributed.launcher: api
distributed.nn: api functional jit
distributed.nn.api: remote_module
distributed.nn.jit: instantiator templates
distributed.nn.jit.templates: remote_module_template
distributed.optim: _deprecation_warning apply_optimizer_in_backward functional_adadelta
    functional_adagrad functional_adam functional_adamax functional_adamw functional_rmsprop
    functional_rprop functional_sgd named_optimizer optimizer post_localSGD_optimizer utils
    zero_redundancy_optimizer
distributed.pipelining: _IR _backward _debug _schedule_visualizer _unflatten _utils
    microbatch schedules stage
distributed.rpc: _testing _utils api backend_registry constants functions internal options
    rref_proxy server_process_global_profiler
distributed.tensor: _api _collective_utils _decompositions _dispatch _dtensor_spec
    _nonlinear_redux _op_schema _ops _random _redistribute _sharding_prop _shards_wrapper
    _tp_conv _utils debug device_mesh experimental parallel placement_types
distributed.tensor.debug: _comm_mode _op_coverage _visualize_sharding
distributed.tensor.experimental: _attention _context_parallel _func_map _register_sharding
    _tp_transform
distributed.tensor.parallel: _data_parallel_utils api ddp fsdp input_reshard loss style
distributions: bernoulli beta binomial categorical cauchy chi2 constraint_registry
    constraints continuous_bernoulli dirichlet distribution exp_family exponential
    fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
    independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal
    lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal
    negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli
    relaxed_categorical studentT transformed_distribution transforms uniform utils von_mises
    weibull wishart
export: _draft_export _leakage_detection_utils _patches _remove_auto_functionalized_pass
    _remove_effect_tokens_pass _safeguard _state_dict_utils _swap _trace _tree_utils _unlift
    _wrapper_utils custom_obj custom_ops decomp_utils dynamic_shapes experimental
    exported_program graph_signature passes pt2_archive unflatten
export.experimental: _utils
export.pt2_archive: _package _package_weights constants
func: _random
fx: _compatibility _graph_pickler _lazy_graph_module _pytree _symbolic_trace _utils annotate
    config experimental graph graph_module immutable_collections interpreter node
    operator_schemas passes proxy subgraph_rewriter tensor_type traceback
fx.experimental: _backward_state _config _constant_symnode _dynamism _size_hinting
    accelerator_partitioner const_fold debug dynamic_spec graph_gradual_typechecker
    merge_matmul meta_tracer migrate_gradual_types normalize optimization partitioner_utils
    proxy_tensor recording refinement_types rewriter schema_type_annotation sym_node
    symbolic_shapes unification unify_refinements validator
fx.experimental.migrate_gradual_types: constraint constraint_generator
    constraint_transformation operation transform_to_z3 util z3_types
fx.experimental.unification: core dispatch match more multipledispatch unification_tools
    utils variable
fx.experimental.unification.multipledispatch: conflict core dispatcher utils variadic
fx.passes: _tensorify_python_scalars annotate_getitem_nodes backends dialect
    fake_tensor_prop graph_drawer graph_manipulation graph_transform_observer infra
    net_min_base operator_support param_fetch pass_manager regional_inductor
    regional_inductor_invoke_subgraph reinplace runtime_assert shape_prop split_module
    split_utils splitter_base tests tools_common utils
fx.passes.backends: cudagraphs
fx.passes.dialect: common
fx.passes.dialect.common: cse_pass
fx.passes.infra: partitioner pass_base pass_manager
fx.passes.tests: _test_split_utils test_pass_manager
fx.passes.utils: common fuser_utils matcher_utils matcher_with_name_node_map_utils
    source_matcher_utils
jit: _async _await _builtins _check _dataclass_impls _decomposition_utils _decompositions
    _freeze _fuser _ir_utils _logging _monkeytype_config _passes _pickle _recursive _script
    _serialization _shape_functions _state _trace annotations frontend generate_bytecode
    mobile quantized supported_ops unsupported_tensor_ops
masked: _docs _ops maskedtensor
masked.maskedtensor: _ops_refs binary core creation passthrough reductions unary
mps: event profiler
mtia: _utils memory mtia_graph
multiprocessing: _atfork pool queue reductions spawn
nativert: backends
nativert.backends: _lower_utils _lowered_aoti_module
nested: _internal
nn: _reduction attention backends common_types cpp functional grad init intrinsic modules
    parallel parameter qat quantizable quantized utils
nn.attention: _fa3 _fa4 _registry _utils bias experimental flex_attention varlen
nn.attention.experimental: _paged_attention _scaled_dot_product_attention_quantized
nn.backends: thnn
nn.intrinsic: modules qat quantized
nn.intrinsic.modules: fused
nn.intrinsic.qat: modules
nn.intrinsic.qat.modules: conv_fused linear_fused linear_relu
nn.intrinsic.quantized: dynamic modules
nn.intrinsic.quantized.dynamic: modules
nn.intrinsic.quantized.dynamic.modules: linear_relu
nn.intrinsic.quantized.modules: bn_relu conv_relu linear_relu
nn.modules: _functions activation adaptive batchnorm channelshuffle container conv distance
    dropout flatten fold instancenorm lazy linear linear_cross_entropy
    linear_cross_entropy_options loss module normalization padding pixelshuffle pooling rnn
    sparse transformer upsampling utils
nn.parallel: _functions comm data_parallel distributed parallel_apply replicate
    scatter_gather
nn.qat: dynamic modules
nn.qat.dynamic: modules
nn.qat.dynamic.modules: linear
nn.qat.modules: conv embedding_ops linear
nn.quantizable: modules
nn.quantizable.modules: activation rnn
nn.quantized: _reference dynamic functional modules
nn.quantized.dynamic: modules
nn.quantized.dynamic.modules: conv linear rnn
nn.quantized.modules: activation batchnorm conv dropout embedding_ops functional_modules
    linear normalization rnn utils
nn.utils: _deprecation_utils _expanded_weights _named_member_accessor _per_sample_grad
    clip_grad convert_parameters fusion init memory_format parametrizations parametrize
    prune rnn spectral_norm stateless weight_norm
numa: binding
onnx: _constants _flags _internal errors operators ops symbolic_helper symbolic_opset10
    symbolic_opset11 symbolic_opset12 symbolic_opset13 symbolic_opset14 symbolic_opset15
    symbolic_opset16 symbolic_opset17 symbolic_opset18 symbolic_opset19 symbolic_opset20
    symbolic_opset7 symbolic_opset8 symbolic_opset9 testing utils verification
onnx.ops: _dtype_mappings _impl _symbolic_impl
optim: _adafactor _functional _multi_tensor _muon _stateless adadelta adagrad adam adamax
    adamw asgd lbfgs lr_scheduler nadam optimizer radam rmsprop rprop sgd sparse_adam
    swa_utils
package: _digraph _directory_reader _importlib _mangling _mock _package_pickler
    _package_unpickler _stdlib analyze file_structure_representation find_file_dependencies
    glob_group importer package_exporter package_importer
package.analyze: find_first_use_of_broken_modules is_from_package trace_dependencies
profiler: _chrome_trace_export _cupti_monitor _cupti_monitor_trace _memory_profiler
    _pattern_matcher _trace_validator _utils itt profiler python_tracer
quantization: _numeric_suite _numeric_suite_fx _quantized_conversions fake_quantize
    fuse_modules fuser_method_mappings fx observer qconfig quant_type quantization_mappings
    quantize quantize_fx quantize_jit stubs utils
quantization.fx: _equalize convert fuse fusion_patterns graph_module match_utils
    pattern_utils prepare quantization_patterns quantization_types utils
signal: windows
signal.windows: windows
sparse: _semi_structured_conversions _semi_structured_ops _triton_ops _triton_ops_meta
    semi_structured
testing: _comparison _creation _internal _utils
utils: _appending_byte_serializer _config_module _content_store _contextlib
    _cpp_embed_headers _cpp_extension_versioner _cuda_debug _cxx_pytree _debug_mode _device
    _dtype_abbrs _exposed_in _filelock _foreach_utils _functools _get_clean_triton _helion
    _import_utils _inspect _mode_utils _ordered_set _pallas _python_dispatch _pytree
    _runtime_estimation _stats _strobelight _sympy _thunk _traceback _triton _typing_utils
    _zip backcompat backend_registration benchmark bundled_inputs checkpoint collect_env
    cpp_backtrace cpp_extension data debug_log deterministic dlpack file_baton flop_counter
    hipify hooks jit mkldnn mobile_optimizer model_dump model_zoo module_tracker
    serialization show_pickle tensorboard throughput_benchmark viz weak
utils.benchmark: examples op_fuzzers utils
utils.benchmark.examples: compare fuzzer op_benchmark simple_timeit spectral_ops_fuzz_test
utils.benchmark.op_fuzzers: binary sparse_binary sparse_unary spectral unary
utils.benchmark.utils: _stubs common compare compile cpp_jit fuzzer sparse_fuzzer timer
    valgrind_wrapper
utils.benchmark.utils.valgrind_wrapper: timer_interface
utils.data: _utils backward_compatibility dataloader datapipes dataset distributed graph
    graph_settings sampler
utils.data.datapipes: _decorator _hook_iterator _typing dataframe datapipe gen_pyi iter map
    utils
utils.data.datapipes.dataframe: dataframe_wrapper dataframes datapipes structures
utils.data.datapipes.iter: callable combinatorics combining filelister fileopener grouping
    routeddecoder selecting sharding streamreader utils
utils.data.datapipes.map: callable combinatorics combining grouping utils
utils.data.datapipes.utils: common decoder snapshot
utils.hipify: constants cuda_to_hip_mappings hipify_python version
utils.jit: log_extract
utils.serialization: config
utils.tensorboard: _convert_np _embedding _onnx_graph _proto_graph _pytorch_graph _utils
    summary writer
utils.viz: _cycles
xpu: _gpu_trace _utils graphs memory random streams
""")
