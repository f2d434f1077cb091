"""Several processes, or threads, that work together: `torch.distributed`'s names over MPI.

Begin with `collectives.py`: each collective is what every rank brings and what every rank gets, and
its derivative and its meaning on batches follow. `transport.py` says what an engine must do;
`threads.py`, `mpi.py` and `ray.py` are engines, which meet in a `hub.py`. `groups.py` has ranks and
groups, `exchange.py` the primitive, `functional.py`, `tensors.py` and `objects.py` the names, and
`near.py` combines what ranks of one machine bring in memory that they share.

To add an engine, write the class of `transport.py`; `tests/distributed/` runs the same tests on
all. Imports functions and autograd; networks that train on several ranks are in `nn/parallel.py`.
"""

from wengert.distributed import functional as functional
from wengert.distributed import hooks as hooks
from wengert.distributed.collectives import ReduceOp as ReduceOp
from wengert.distributed.groups import GroupMember as GroupMember
from wengert.distributed.groups import ProcessGroup as ProcessGroup
from wengert.distributed.groups import destroy_process_group as destroy_process_group
from wengert.distributed.groups import get_backend as get_backend
from wengert.distributed.groups import get_global_rank as get_global_rank
from wengert.distributed.groups import get_group_rank as get_group_rank
from wengert.distributed.groups import get_node_local_rank as get_node_local_rank
from wengert.distributed.groups import get_pg_count as get_pg_count
from wengert.distributed.groups import get_process_group_ranks as get_process_group_ranks
from wengert.distributed.groups import get_rank as get_rank
from wengert.distributed.groups import get_world_size as get_world_size
from wengert.distributed.groups import group as group
from wengert.distributed.groups import init_process_group as init_process_group
from wengert.distributed.groups import is_available as is_available
from wengert.distributed.groups import is_backend_available as is_backend_available
from wengert.distributed.groups import is_gloo_available as is_gloo_available
from wengert.distributed.groups import is_initialized as is_initialized
from wengert.distributed.groups import is_mpi_available as is_mpi_available
from wengert.distributed.groups import is_nccl_available as is_nccl_available
from wengert.distributed.groups import is_torchelastic_launched as is_torchelastic_launched
from wengert.distributed.groups import is_ucc_available as is_ucc_available
from wengert.distributed.groups import is_xccl_available as is_xccl_available
from wengert.distributed.groups import new_group as new_group
from wengert.distributed.groups import new_subgroups as new_subgroups
from wengert.distributed.groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from wengert.distributed.groups import run_threads as run_threads
from wengert.distributed.objects import all_gather_object as all_gather_object
from wengert.distributed.objects import broadcast_object_list as broadcast_object_list
from wengert.distributed.objects import gather_object as gather_object
from wengert.distributed.objects import recv_object_list as recv_object_list
from wengert.distributed.objects import scatter_object_list as scatter_object_list
from wengert.distributed.objects import send_object_list as send_object_list
from wengert.distributed.tensors import P2POp as P2POp
from wengert.distributed.tensors import all_gather as all_gather
from wengert.distributed.tensors import all_gather_into_tensor as all_gather_into_tensor
from wengert.distributed.tensors import all_reduce as all_reduce
from wengert.distributed.tensors import all_to_all as all_to_all
from wengert.distributed.tensors import all_to_all_single as all_to_all_single
from wengert.distributed.tensors import barrier as barrier
from wengert.distributed.tensors import batch_isend_irecv as batch_isend_irecv
from wengert.distributed.tensors import broadcast as broadcast
from wengert.distributed.tensors import gather as gather
from wengert.distributed.tensors import irecv as irecv
from wengert.distributed.tensors import isend as isend
from wengert.distributed.tensors import monitored_barrier as monitored_barrier
from wengert.distributed.tensors import recv as recv
from wengert.distributed.tensors import reduce as reduce
from wengert.distributed.tensors import reduce_scatter as reduce_scatter
from wengert.distributed.tensors import reduce_scatter_tensor as reduce_scatter_tensor
from wengert.distributed.tensors import scatter as scatter
from wengert.distributed.tensors import send as send
from wengert.distributed.work import Future as Future
from wengert.distributed.work import Work as Work
from wengert.errors import DistBackendError as DistBackendError
from wengert.errors import DistError as DistError
from wengert.errors import DistTimeoutError as DistTimeoutError
from wengert.errors import RankLostError as RankLostError
from wengert.imports import lacking as _lacking

all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor
reduce_op = ReduceOp
_lacking(__name__)
