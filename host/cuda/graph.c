/* Graphs of the CUDA device: what a stream captures between begin and end. The device owns the
 * graphs. */
#include "state.h"

#include <stdlib.h>

struct pg_graph {
  CUgraphExec handle;
  pg_graph *next;
};

static bool has_graphs(const pg_driver *driver) {
  return driver->StreamBeginCapture && driver->StreamEndCapture && driver->GraphInstantiate &&
         driver->GraphLaunch && driver->GraphExecDestroy && driver->GraphDestroy;
}

pg_code pg_cuda_graph_begin(pg_device *device, pg_stream *stream, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  if (!has_graphs(&cuda->driver)) {
    pg_fail(error, PG_UNSUPPORTED, "this driver has no graphs");
    return pg_hint(error, "update the driver to CUDA 11.4 or newer");
  }
  cu_result result = cuda->driver.StreamBeginCapture(stream->handle, PG_CU_CAPTURE_RELAXED);
  return pg_cuda_check(cuda, result, error, "beginning a graph");
}

pg_code pg_cuda_graph_end(pg_device *device, pg_stream *stream, pg_graph **out, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  CUgraph captured = NULL;
  if (out) *out = NULL;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.StreamEndCapture(stream->handle, &captured);
  pg_graph *graph = result || !out ? NULL : calloc(1, sizeof *graph);
  if (graph) result = cuda->driver.GraphInstantiate(&graph->handle, captured, 0);
  if (captured) cuda->driver.GraphDestroy(captured);
  if (!out) return PG_OK;
  if (!result && !graph) return pg_fail(error, PG_MEMORY, "out of memory for a graph");
  if (result) {
    free(graph);
    return pg_cuda_check(cuda, result, error, "making a graph");
  }
  graph->next = cuda->graphs;
  *out = cuda->graphs = graph;
  return PG_OK;
}

pg_code pg_cuda_graph_launch(pg_device *device, pg_graph *graph, pg_stream *stream,
                             pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.GraphLaunch(graph->handle, stream->handle);
  return pg_cuda_check(cuda, result, error, "launching a graph");
}

void pg_cuda_graph_free(pg_device *device, pg_graph *graph) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!graph) return;
  pg_graph **link = &cuda->graphs;
  while (*link && *link != graph) link = &(*link)->next;
  if (*link) *link = graph->next;
  cuda->driver.CtxSetCurrent(cuda->context);
  cuda->driver.GraphExecDestroy(graph->handle);
  free(graph);
}
