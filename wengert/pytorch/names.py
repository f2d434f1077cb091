"""Where names of PyTorch's are here, and which are not.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch 2.13.0.
"""

from wengert.pytorch.modules import entries

LACKING = entries("""
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
nn.attention: WARN_FOR_UNFUSED_KERNELS activate_flash_attention_impl
    current_flash_attention_impl list_flash_attention_impls register_flash_attention_impl
    restore_flash_attention_impl
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
optim.sparse_adam: ParamsT
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

HOMES = entries("""
accelerator.memory in accelerator: empty_cache
amp.autocast_mode in amp: autocast custom_bwd custom_fwd is_autocast_available
autograd.anomaly_mode in autograd: detect_anomaly set_detect_anomaly
autograd.grad_mode in autograd: enable_grad inference_mode no_grad set_grad_enabled
autograd.profiler in profiler: record_function
cuda.amp.autocast_mode in cuda.amp: autocast custom_bwd custom_fwd
cuda.memory in cuda: empty_cache max_memory_allocated max_memory_reserved memory_allocated
    memory_reserved reset_peak_memory_stats
cuda.random in cuda: get_rng_state_all manual_seed manual_seed_all
distributed.checkpoint.state_dict_loader in distributed.checkpoint: load
distributed.checkpoint.state_dict_saver in distributed.checkpoint: save
distributed.distributed_c10d in distributed: GroupMember P2POp ProcessGroup ReduceOp Work
    all_gather all_gather_into_tensor all_gather_object all_gather_single all_reduce
    all_to_all all_to_all_single barrier batch_isend_irecv broadcast broadcast_object_list
    destroy_process_group gather gather_object get_backend get_global_rank get_group_rank
    get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size group
    init_process_group irecv is_backend_available is_gloo_available is_initialized
    is_mpi_available is_nccl_available is_torchelastic_launched is_ucc_available
    is_xccl_available isend monitored_barrier new_group new_subgroups
    new_subgroups_by_enumeration recv recv_object_list reduce reduce_op reduce_scatter
    reduce_scatter_single reduce_scatter_tensor scatter scatter_object_list send
    send_object_list
distributed.nn in distributed.nn.functional: all_gather all_reduce all_to_all broadcast
    gather reduce reduce_scatter scatter
distributed.rendezvous in distributed: rendezvous
distributions.one_hot_categorical in distributions: OneHotCategoricalStraightThrough
distributions.relaxed_bernoulli in distributions.relaxed: LogitRelaxedBernoulli
distributions.relaxed_categorical in distributions: RelaxedOneHotCategorical
distributions.relaxed_categorical in distributions.relaxed: ExpRelaxedCategorical
functional in: atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes
    broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm
    pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index
jit.annotations in cuda: Any
multiprocessing.spawn in multiprocessing: spawn
nn.modules.activation in nn: CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh
    LeakyReLU LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU
    Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
nn.modules.adaptive in nn: AdaptiveLogSoftmaxWithLoss
nn.modules.batchnorm in nn: BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d
    LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm
nn.modules.batchnorm in nn.layers.lazy: _LazyNormBase=_LazyNorm
nn.modules.batchnorm in nn.layers.normalization: _BatchNorm=_BatchNorm _NormBase=_Norm
nn.modules.channelshuffle in nn: ChannelShuffle
nn.modules.container in nn: ModuleDict ModuleList ParameterDict ParameterList Sequential
nn.modules.conv in nn: Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
    LazyConvTranspose3d
nn.modules.conv in nn.layers.convolution: _ConvNd=_Convolution
    _ConvTransposeNd=_ConvTranspose
nn.modules.conv in nn.layers.lazy: _LazyConvXdMixin=_LazyConvolution
nn.modules.distance in nn: CosineSimilarity PairwiseDistance
nn.modules.dropout in nn: AlphaDropout Dropout Dropout1d Dropout2d Dropout3d
    FeatureAlphaDropout
nn.modules.dropout in nn.layers.normalization: _DropoutNd=_Dropout
nn.modules.flatten in nn: Flatten Unflatten
nn.modules.fold in nn: Fold Unfold
nn.modules.instancenorm in nn: InstanceNorm1d InstanceNorm2d InstanceNorm3d
    LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
nn.modules.instancenorm in nn.layers.normalization: _InstanceNorm=_InstanceNorm
nn.modules.linear in nn: Bilinear Identity LazyLinear Linear
nn.modules.loss in nn: BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss
    CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss
    LinearCrossEntropyLoss MSELoss MarginRankingLoss MultiLabelMarginLoss
    MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss
    SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
nn.modules.loss in nn.layers.losses: _Loss=_Loss
nn.modules.module in nn: Module
nn.modules.module in nn.module: register_module_forward_hook
    register_module_forward_pre_hook
nn.modules.normalization in nn: CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm
nn.modules.padding in nn: CircularPad1d CircularPad2d CircularPad3d ConstantPad1d
    ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d
    ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
nn.modules.padding in nn.layers.shaping: _ConstantPadNd=_ConstantPad
nn.modules.pixelshuffle in nn: PixelShuffle PixelUnshuffle
nn.modules.pooling in nn: AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d
    AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d
    FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d
    MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
nn.modules.pooling in nn.layers.pooling: _AdaptiveMaxPoolNd=_AdaptiveMaxPool
    _AvgPoolNd=_AvgPool _LPPoolNd=_LPPool _MaxPoolNd=_MaxPool _MaxUnpoolNd=_MaxUnpool
nn.modules.rnn in nn: GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase
nn.modules.sparse in nn: Embedding EmbeddingBag
nn.modules.transformer in nn: Transformer TransformerDecoder TransformerDecoderLayer
    TransformerEncoder TransformerEncoderLayer
nn.modules.upsampling in nn: Upsample UpsamplingBilinear2d UpsamplingNearest2d
nn.parallel.data_parallel in nn.parallel: data_parallel
nn.parallel.distributed in nn.parallel: DistributedDataParallel
nn.parallel.parallel_apply in nn.parallel: parallel_apply
nn.parallel.replicate in nn.parallel: replicate
nn.parallel.scatter_gather in nn.parallel: gather scatter scatter_kwargs
nn.utils.init in nn.utils: skip_init
nn.utils.memory_format in nn.utils: convert_conv2d_weight_memory_format
    convert_conv3d_weight_memory_format
nn.utils.spectral_norm in nn.utils: remove_spectral_norm spectral_norm
nn.utils.spectral_norm in nn.utils.hooked: SpectralNorm
nn.utils.weight_norm in nn.utils: remove_weight_norm weight_norm
nn.utils.weight_norm in nn.utils.hooked: WeightNorm
profiler.profiler in profiler: ProfilerAction profile schedule supported_activities
    tensorboard_trace_handler
signal.windows.windows in signal.windows: bartlett blackman cosine exponential gaussian
    general_cosine general_hamming hamming hann kaiser nuttall
utils.hooks in autograd.graph: RemovableHandle
""")
"""Names of modules without a file here, by a module with one that has the same object of PyTorch's,
or by the file that defines it beside what else the module defines.

`_ConvNd=_Convolution`: PyTorch's private base of layers is this one of the same layers.
"""
