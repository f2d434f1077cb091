"""PyTorch's modules, by the package after `torch.` that holds them, and names not here.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch 2.13.0.
"""


def _entries(text: str) -> dict[str, str]:
    """What stands behind each path, whose further lines are indented."""
    lines = text.strip().replace("\n    ", " ").splitlines()
    return {path: names for path, _, names in (line.partition(": ") for line in lines)}


COMPARED = "2.13.0"
MODULES = _entries("""
: accelerator amp ao autograd backends compiler contrib cpu cuda distributed distributions
    export fft func functional futures fx hub jit library linalg masked monitor mps mtia
    multiprocessing nativert nested nn numa onnx optim overrides package profiler
    quantization quasirandom random return_types serialization signal sparse special storage
    testing torch_version types utils version xpu
accelerator: graphs memory
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
ao.ns: fx
ao.ns.fx: graph_matcher graph_passes mappings n_shadows_utils ns_types pattern_utils
    qconfig_multi_mapping utils weight_utils
ao.pruning: scheduler sparsifier
ao.pruning.scheduler: base_scheduler cubic_scheduler lambda_scheduler
ao.pruning.sparsifier: base_sparsifier nearly_diagonal_sparsifier utils
    weight_norm_sparsifier
ao.quantization: backend_config fake_quantize fuse_modules fuser_method_mappings fx observer
    qconfig qconfig_mapping quant_type quantization_mappings quantize quantize_fx
    quantize_jit stubs utils
ao.quantization.backend_config: backend_config executorch fbgemm native onednn qnnpack
    tensorrt utils x86
ao.quantization.fx: convert custom_config fuse fuse_handler graph_module lower_to_fbgemm
    lower_to_qnnpack lstm_utils match_utils pattern_utils prepare qconfig_mapping_utils
    quantize_handler tracer utils
autograd: anomaly_mode forward_ad function functional grad_mode gradcheck graph profiler
    profiler_legacy profiler_util variable
backends: cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp
    opt_einsum python_native quantized xeon xnnpack
backends.cudnn: rnn
backends.xeon: run_cpu
compiler: config
cpu: amp
cpu.amp: autocast_mode grad_scaler
cuda: amp comm gds graphs green_contexts jiterator memory nccl nvtx profiler random sparse
    streams tunable
cuda.amp: autocast_mode common grad_scaler
distributed: algorithms argparse_util autograd c10d_logger checkpoint collective_utils
    config constants debug device_mesh distributed_c10d elastic flight_recorder fsdp launch
    launcher logging_handlers nn optim pipelining remote_device rendezvous rpc run tensor
    utils
distributed.algorithms: ddp_comm_hooks join model_averaging
distributed.algorithms.ddp_comm_hooks: ddp_zero_hook debugging_hooks default_hooks
    mixed_precision_hooks optimizer_overlap_hooks post_localSGD_hook powerSGD_hook
    quantization_hooks
distributed.algorithms.model_averaging: averagers hierarchical_model_averager utils
distributed.checkpoint: api default_planner filesystem format_utils hf_storage logger
    logging_handlers metadata optimizer planner planner_helpers quantized_hf_storage
    resharding staging state_dict state_dict_loader state_dict_saver stateful storage utils
distributed.elastic: agent control_plane events metrics multiprocessing rendezvous timer
    utils
distributed.elastic.agent: server
distributed.elastic.agent.server: api health_check_server local_elastic_agent
distributed.elastic.events: api handlers
distributed.elastic.metrics: api
distributed.elastic.multiprocessing: api errors redirects subprocess_handler tail_log
distributed.elastic.multiprocessing.errors: error_handler handlers
distributed.elastic.multiprocessing.subprocess_handler: handlers subprocess_handler
distributed.elastic.rendezvous: api c10d_rendezvous_backend dynamic_rendezvous
    etcd_rendezvous etcd_rendezvous_backend etcd_server etcd_store registry
    static_tcp_rendezvous utils
distributed.elastic.timer: api debug_info_logging file_based_local_timer local_timer
distributed.elastic.utils: api data distributed log_level logging process_state store
distributed.elastic.utils.data: cycling_iterator elastic_distributed_sampler
distributed.flight_recorder: components fr_trace
distributed.flight_recorder.components: builder config_manager fr_logger loader types utils
distributed.fsdp: api fully_sharded_data_parallel sharded_grad_scaler wrap
distributed.launcher: api
distributed.nn: api functional jit
distributed.nn.api: remote_module
distributed.nn.jit: instantiator templates
distributed.nn.jit.templates: remote_module_template
distributed.optim: apply_optimizer_in_backward functional_adadelta functional_adagrad
    functional_adam functional_adamax functional_adamw functional_rmsprop functional_rprop
    functional_sgd named_optimizer optimizer post_localSGD_optimizer utils
    zero_redundancy_optimizer
distributed.pipelining: microbatch schedules stage
distributed.rpc: api backend_registry constants functions internal options rref_proxy
    server_process_global_profiler
distributed.tensor: debug device_mesh experimental parallel placement_types
distributed.tensor.parallel: api ddp fsdp input_reshard loss style
distributions: bernoulli beta binomial categorical cauchy chi2 constraint_registry
    constraints continuous_bernoulli dirichlet distribution exp_family exponential
    fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
    independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal
    lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal
    negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli
    relaxed_categorical studentT transformed_distribution transforms uniform utils von_mises
    weibull wishart
export: custom_obj custom_ops decomp_utils dynamic_shapes experimental exported_program
    graph_signature passes pt2_archive unflatten
export.pt2_archive: constants
fx: annotate config experimental graph graph_module immutable_collections interpreter node
    operator_schemas passes proxy subgraph_rewriter tensor_type traceback
fx.experimental: accelerator_partitioner const_fold debug dynamic_spec
    graph_gradual_typechecker merge_matmul meta_tracer migrate_gradual_types normalize
    optimization partitioner_utils proxy_tensor recording refinement_types rewriter
    schema_type_annotation sym_node symbolic_shapes unification unify_refinements validator
fx.experimental.migrate_gradual_types: constraint constraint_generator
    constraint_transformation operation transform_to_z3 util z3_types
fx.experimental.unification: core dispatch match more multipledispatch unification_tools
    utils variable
fx.experimental.unification.multipledispatch: conflict core dispatcher utils variadic
fx.passes: annotate_getitem_nodes backends dialect fake_tensor_prop graph_drawer
    graph_manipulation graph_transform_observer infra net_min_base operator_support
    param_fetch pass_manager regional_inductor regional_inductor_invoke_subgraph reinplace
    runtime_assert shape_prop split_module split_utils splitter_base tests tools_common
    utils
fx.passes.backends: cudagraphs
fx.passes.dialect: common
fx.passes.dialect.common: cse_pass
fx.passes.infra: partitioner pass_base pass_manager
fx.passes.tests: test_pass_manager
fx.passes.utils: common fuser_utils matcher_utils matcher_with_name_node_map_utils
    source_matcher_utils
jit: annotations frontend generate_bytecode mobile quantized supported_ops
    unsupported_tensor_ops
masked: maskedtensor
masked.maskedtensor: binary core creation passthrough reductions unary
mps: event profiler
mtia: memory mtia_graph
multiprocessing: pool queue reductions spawn
nativert: backends
nn: attention backends common_types cpp functional grad init intrinsic modules parallel
    parameter qat quantizable quantized utils
nn.attention: bias experimental flex_attention varlen
nn.backends: thnn
nn.intrinsic: modules qat quantized
nn.intrinsic.modules: fused
nn.intrinsic.qat: modules
nn.intrinsic.qat.modules: conv_fused linear_fused linear_relu
nn.intrinsic.quantized: dynamic modules
nn.intrinsic.quantized.dynamic: modules
nn.intrinsic.quantized.dynamic.modules: linear_relu
nn.intrinsic.quantized.modules: bn_relu conv_relu linear_relu
nn.modules: activation adaptive batchnorm channelshuffle container conv distance dropout
    flatten fold instancenorm lazy linear linear_cross_entropy linear_cross_entropy_options
    loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
    utils
nn.parallel: comm data_parallel distributed parallel_apply replicate scatter_gather
nn.qat: dynamic modules
nn.qat.dynamic: modules
nn.qat.dynamic.modules: linear
nn.qat.modules: conv embedding_ops linear
nn.quantizable: modules
nn.quantizable.modules: activation rnn
nn.quantized: dynamic functional modules
nn.quantized.dynamic: modules
nn.quantized.dynamic.modules: conv linear rnn
nn.quantized.modules: activation batchnorm conv dropout embedding_ops functional_modules
    linear normalization rnn utils
nn.utils: clip_grad convert_parameters fusion init memory_format parametrizations
    parametrize prune rnn spectral_norm stateless weight_norm
numa: binding
onnx: errors operators ops symbolic_helper symbolic_opset10 symbolic_opset11
    symbolic_opset12 symbolic_opset13 symbolic_opset14 symbolic_opset15 symbolic_opset16
    symbolic_opset17 symbolic_opset18 symbolic_opset19 symbolic_opset20 symbolic_opset7
    symbolic_opset8 symbolic_opset9 testing utils verification
optim: adadelta adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam optimizer radam
    rmsprop rprop sgd sparse_adam swa_utils
package: analyze file_structure_representation find_file_dependencies glob_group importer
    package_exporter package_importer
package.analyze: find_first_use_of_broken_modules is_from_package trace_dependencies
profiler: itt profiler python_tracer
quantization: fake_quantize fuse_modules fuser_method_mappings fx observer qconfig
    quant_type quantization_mappings quantize quantize_fx quantize_jit stubs utils
quantization.fx: convert fuse fusion_patterns graph_module match_utils pattern_utils prepare
    quantization_patterns quantization_types utils
signal: windows
signal.windows: windows
sparse: semi_structured
utils: backcompat backend_registration benchmark bundled_inputs checkpoint collect_env
    cpp_backtrace cpp_extension data debug_log deterministic dlpack file_baton flop_counter
    hipify hooks jit mkldnn mobile_optimizer model_dump model_zoo module_tracker
    serialization show_pickle tensorboard throughput_benchmark viz weak
utils.benchmark: examples op_fuzzers utils
utils.benchmark.examples: compare fuzzer op_benchmark simple_timeit spectral_ops_fuzz_test
utils.benchmark.op_fuzzers: binary sparse_binary sparse_unary spectral unary
utils.benchmark.utils: common compare compile cpp_jit fuzzer sparse_fuzzer timer
    valgrind_wrapper
utils.benchmark.utils.valgrind_wrapper: timer_interface
utils.data: backward_compatibility dataloader datapipes dataset distributed graph
    graph_settings sampler
utils.data.datapipes: dataframe datapipe gen_pyi iter map utils
utils.data.datapipes.dataframe: dataframe_wrapper dataframes datapipes structures
utils.data.datapipes.iter: callable combinatorics combining filelister fileopener grouping
    routeddecoder selecting sharding streamreader utils
utils.data.datapipes.map: callable combinatorics combining grouping utils
utils.data.datapipes.utils: common decoder snapshot
utils.hipify: constants cuda_to_hip_mappings hipify_python version
utils.jit: log_extract
utils.serialization: config
utils.tensorboard: summary writer
xpu: graphs memory random streams
""")
LACKING = _entries("""
: AVG AcceleratorError AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType
    BFloat16Storage BFloat16Tensor BenchmarkConfig BenchmarkExecutionStats Block BoolStorage
    BoolType BufferDict ByteStorage CallStack Capsule CharStorage ClassType Code
    CompilationUnit CompleteArgumentSpec ComplexDoubleStorage ComplexFloatStorage
    ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
    DeserializationStorageContext DeviceObjType DictType DispatchKey DispatchKeySet
    DoubleStorage EnumType ErrorReport Event ExcludeDispatchKeyGuard ExecutionPlan
    FatalError FileCheck FloatStorage FloatType FunctionSchema Future FutureType Gradient
    Graph GraphExecutorState HalfStorage IODescriptor InferredType IntStorage IntType
    InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase
    LongStorage Node NoneType NoopLogger NumberType OperatorInfo OptionalType
    OutOfMemoryError PyObjectType PyTorchFileReader PyTorchFileWriter QInt32Storage
    QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType SUM ScriptClass
    ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptFunction
    ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer
    ScriptObject ScriptObjectProperty SerializationStorageContext ShortStorage StaticModule
    Storage StorageBase Stream StreamObjType StringType SymBool SymBoolType SymFloat SymInt
    SymIntType Tag TensorType ThroughputBenchmark TracingState TupleType Type TypedStorage
    UnionType UntypedStorage Use Value autocast_decrement_nesting autocast_increment_nesting
    batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
    batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
    batch_norm_update_stats bit bits16 bits1x8 bits2x4 bits4x2 bits8 ccol_indices_copy chalf
    choose_qparams_optimized classproperty clear_autocast_cache col_indices_copy
    compiled_with_cxx11_abi complex32 cpp crow_indices_copy cudnn_affine_grid_generator
    cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable dequantize eig
    embedding_bag embedding_renorm_ empty_quantized fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
    fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
    fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_dropout_
    float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    float8_e8m0fnu fork from_file fused_moving_avg_obs_fake_quant get_autocast_cpu_dtype
    get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
    get_deterministic_debug_mode get_device_module get_file_path get_num_interop_threads
    has_lapack has_mkl has_openmp has_spectral hash_tensor hsmm hspmm import_ir_module
    import_ir_module_from_buffer indices_copy init_num_threads int1 int2 int3 int4 int5 int6
    int7 int_repr is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_ipu_enabled
    is_autocast_xla_enabled is_deterministic_algorithms_warn_only_enabled
    is_vulkan_available is_warn_always_enabled lstsq matrix_rank
    merge_type_from_type_comment miopen_batch_norm miopen_convolution
    miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
    miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
    mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
    mkldnn_rnn_layer native_dropout native_norm parse_ir parse_schema parse_type_comment
    prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
    q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
    qint32 qint8 qscheme quantize_per_channel quantize_per_tensor
    quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell
    quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
    quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4 quint4x2
    quint8 resize_as_sparse_ row_indices_copy saddmm set_autocast_cache_enabled
    set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
    set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled
    set_autocast_xla_dtype set_autocast_xla_enabled set_deterministic_debug_mode
    set_num_interop_threads set_warn_always slice_inverse smm solve sparse_bsc_tensor
    sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor sspaddmm
    sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int
    sym_ite sym_max sym_min sym_not sym_sqrt sym_sum symeig thread_safe_generator uint1
    uint2 uint3 uint4 uint5 uint6 uint7 unify_type_list values_copy wait
accelerator: Graph current_device_idx current_stream device_index empty_host_cache
    get_device_capability get_memory_info max_memory_allocated max_memory_reserved
    memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats
    reset_peak_memory_stats set_device_idx set_stream
amp.grad_scaler: OptState
autograd: DeviceType NestedIOFunction ProfilerEvent SavedTensor enforce_grad_layout_policy
    kineto_available set_multithreading_enabled
autograd.function: BackwardCFunction FunctionMeta NestedIOFunction
autograd.gradcheck: get_analytical_jacobian get_numerical_jacobian
    get_numerical_jacobian_wrt_specific_input
autograd.graph: region_activation_memory_budget set_override_stale_capture_stream
    set_warn_on_accumulate_grad_stream_mismatch
autograd.variable: VariableMeta
backends.cuda: SDPAParams allow_fp16_bf16_reduction_math_sdp blas_workspace_size
    can_use_cudnn_attention can_use_efficient_attention can_use_flash_attention cuBLASModule
    cuFFTPlanCache cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager cublas_workspace_size
    cublaslt_workspace_size cufft_plan_cache fp16_bf16_reduction_math_sdp_allowed
    is_ck_sdpa_available is_flash_attention_available preferred_blas_library
    preferred_linalg_library preferred_rocm_fa_library
backends.mkl: verbose
backends.mps: get_core_count get_name is_macos13_or_newer is_macos_or_newer
compiler: CacheInfo F FuncType assume_constant_result compile get_default_backend
    keep_portable_guards_unsafe keep_tensor_guards_unsafe load_cache_artifacts
    load_compiled_function nested_compile_region save_cache_artifacts set_default_backend
    set_enable_guard_collectives set_stance skip_all_guards_unsafe
    skip_guard_on_all_nn_modules_unsafe skip_guard_on_globals_unsafe
    skip_guard_on_inbuilt_nn_modules_unsafe substitute_in_graph wrap_numpy
cuda: BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CUDAGraph
    CUDAPluggableAllocator CharStorage CharTensor ComplexDoubleStorage ComplexFloatStorage
    CudaError DeferredCudaCallError Device DoubleStorage DoubleTensor Event ExternalStream
    FloatStorage FloatTensor GreenContext HalfStorage HalfTensor IntStorage IntTensor
    LongStorage LongTensor MemPool ShortStorage ShortTensor Stream StreamContext
    caching_allocator_alloc caching_allocator_delete caching_allocator_disabled
    caching_allocator_enable can_device_access_peer change_current_allocator check_error
    clock_rate cudaStatus cudart current_blas_handle current_solver_handle current_stream
    default_generators default_stream device device_memory_used device_of
    get_allocator_backend get_arch_list get_gencode_flags get_per_process_memory_fraction
    get_rng_state get_stream_from_external get_sync_debug_mode graph graph_pool_handle
    has_half has_magma host_memory_stats host_memory_stats_as_nested_dict init initial_seed
    ipc_collect is_current_stream_capturing is_tf32_supported list_gpu_processes
    make_graphed_callables max_memory_cached mem_get_info memory_cached memory_snapshot
    memory_stats memory_stats_as_nested_dict memory_summary memory_usage power_draw
    reset_accumulated_host_memory_stats reset_accumulated_memory_stats
    reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats seed
    seed_all set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream
    set_sync_debug_mode stream temperature use_mem_pool utilization
cuda.amp: amp_definitely_not_available
distributed: AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend
    BackendConfig BarrierOptions BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh
    DistNetworkError DistStoreError FileStore GatherOptions GradBucket GroupName HashStore
    Logger PrefixStore ProcessGroupGloo QueueEmptyError RankType ReduceOptions
    ReduceScatterOptions Reducer ScatterOptions Store TCPStore all_gather_coalesced
    all_reduce_coalesced breakpoint get_backend_config get_debug_level
    get_default_backend_for_device init_device_mesh record_comm register_rendezvous_handler
    set_debug_level set_debug_level_from_env shrink_group split_group supports_complex
distributed.algorithms.ddp_comm_hooks.default_hooks: bf16_compress_wrapper
    fp16_compress_wrapper
distributed.algorithms.ddp_comm_hooks.powerSGD_hook: batched_powerSGD_hook
distributed.checkpoint: BytesStorageMetadata CheckpointException ChunkStorageMetadata
    DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter
    HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata
    QuantizedHuggingFaceStorageReader ReadItem SavePlan SavePlanner StorageReader
    StorageWriter TensorStorageMetadata WriteItem async_save
    load_sharded_optimizer_state_dict load_state_dict save_state_dict
distributed.nn.functional: all_to_all_single
distributed.optim: DistributedOptimizer PostLocalSGDOptimizer as_functional_optim
distributions.constraints: MixtureSameFamilyConstraint
distributions.utils: Device Number R T
func: debug_unwrap functionalize rearrange
jit: CompilationUnit Error Future ONNXTracedModule RecursiveScriptClass
    RecursiveScriptModule ScriptFunction ScriptModule ScriptWarning TopLevelTracedModule
    TracedModule TracerWarning TracingCheckError enable_onednn_fusion export_opnames fuser
    interface jit_module_from_flatbuffer onednn_fusion_enabled optimized_execution
    run_frozen_optimizations save_jit_module_to_flatbuffer script_method set_fusion_strategy
    strict_fusion
masked: MaskedTensor as_masked_tensor is_masked_tensor masked_tensor
multiprocessing: ProcessContext ProcessExitedException ProcessRaisedException SpawnContext
    init_reductions start_processes
nn: Container LinearCrossEntropyOptions NLLLoss2d factory_kwargs
nn.parallel: DistributedDataParallelCPU
nn.parameter: UninitializedTensorMixin
nn.utils.fusion: ConvT LinearT
nn.utils.rnn: PackedSequence_ bind
onnx: ExportableModule InputObserver JitScalarType ONNXProgram OnnxExporterError
    OperatorExportTypes TensorProtoDataType TrainingMode register_custom_op_symbolic
    select_model_mode_for_export unregister_custom_op_symbolic
optim: swap_in_optimizer_params_and_state
optim.adam: DeviceDict DeviceDtypeDict ParamsT adam
optim.lbfgs: ParamsT
optim.optimizer: Args DeviceDict DeviceDtypeDict GlobalOptimizerPostHook
    GlobalOptimizerPreHook Indices Kwargs ParamsT R StateDict T TensorListList
    register_optimizer_step_post_hook register_optimizer_step_pre_hook
optim.sgd: DeviceDict ParamsT sgd
optim.swa_utils: PARAM_LIST
overrides: BaseTorchFunctionMode enable_reentrant_dispatch get_default_nowrap_functions
    get_ignored_functions get_overridable_functions get_testing_overrides
    redispatch_function resolve_name
profiler: DeviceType ExecutionTraceObserver RecordScope
random: thread_safe_generator
serialization: FileLike LoadEndianness MAP_LOCATION STORAGE SourceChangeWarning StorageType
    T check_module_version_greater_or_equal default_restore_location get_crc32_options
    get_default_load_endianness get_default_mmap_options get_unsafe_globals_in_checkpoint
    location_tag mkdtemp normalize_storage_type register_package set_crc32_options
    set_default_load_endianness set_default_mmap_options skip_data storage_to_tensor_type
    validate_cuda_device validate_hpu_device
sparse: BFloat16Tensor DimOrDims SparseSemiStructuredTensor
    SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS
    as_sparse_gradcheck check_sparse_tensor_invariants sampled_addmm solve spdiags spsolve
    to_sparse_semi_structured
utils: ThroughputBenchmark generate_methods_for_privateuse1_backend get_cpp_backtrace
    rename_privateuse1_backend set_module swap_tensors
utils.checkpoint: CheckpointError CheckpointFunction CheckpointPolicy DefaultDeviceType
    GraphExecGroup SAC_IGNORED_OPS SelectiveCheckpointContext check_backward_validity
    create_selective_checkpoint_contexts get_device_states set_checkpoint_debug_enabled
    set_checkpoint_early_stop set_device_states
utils.data: DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation
    guaranteed_datapipes_determinism non_deterministic runtime_validation
    runtime_validation_disabled
utils.dlpack: DLDeviceType
""")
"""Names of modules that have a file here, without a meaning here."""
