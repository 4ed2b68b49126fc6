/* The Lua module hash.tsdf_reference: scenes, the model of what a volume must hold, and the
 * judgement of one. A model is a userdata; it keeps the arrays it was made from alive. README.md of
 * kernels/tsdf has the rules. */
#include <string.h>

#include "bind/bind.h"
#include "tsdf_reference/dense.h"
#include "tsdf_reference/fail.h"
#include "tsdf_reference/order.h"
#include "tsdf_reference/scene.h"
#include "tsdf_reference/stencil.h"
#include "tsdf_reference/verify.h"

#define MODEL_META "hash.tsdf_model"

static const char *const SUMS[TSDF_SUMS] = {"tsdf", "weight", "r", "g", "b"};

/* ---- reading arguments ---- */

static int fail_field(lua_State *L, const char *name, const char *expected) {
  pg_error error = {0};
  tsdf_fail(&error, PG_INVALID, "field '%s': expected %s, got %s", name, expected,
            luaL_typename(L, -1));
  return pg_lua_raise(L, &error);
}

static double number_field(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  if (!lua_isnumber(L, -1)) fail_field(L, name, "a number");
  const double value = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

static int64_t integer_field(lua_State *L, int table, const char *name, int64_t low, int64_t high) {
  int whole;
  lua_getfield(L, table, name);
  const int64_t value = lua_tointegerx(L, -1, &whole);
  if (!whole) fail_field(L, name, "an integer");
  if (value < low || value > high) {
    pg_error error = {0};
    tsdf_fail(&error, PG_RANGE, "field '%s' is %lld, expected %lld to %lld", name, (long long)value,
              (long long)low, (long long)high);
    pg_lua_raise(L, &error);
  }
  lua_pop(L, 1);
  return value;
}

/* An array of `count` elements of a scalar type (PG_STRUCT: table entries), or any count when it is
 * -1. NULL when the field is nil. The table keeps it alive. */
static pg_array *array_field(lua_State *L, int table, const char *name, pg_scalar scalar,
                             int64_t count) {
  lua_getfield(L, table, name);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return NULL;
  }
  pg_array *array = pg_lua_test_array(L, -1);
  const bool right = array && array->dtype.scalar == scalar &&
                     (scalar != PG_STRUCT || array->dtype.size == sizeof(tsdf_entry));
  if (!right)
    fail_field(L, name, scalar == PG_STRUCT ? "an array of entries" : "an array of its type");
  if (count >= 0 && array->count != (size_t)count) {
    pg_error error = {0};
    tsdf_fail(&error, PG_RANGE, "field '%s' has %zu elements, expected %lld", name, array->count,
              (long long)count);
    pg_lua_raise(L, &error);
  }
  lua_pop(L, 1);
  return array;
}

static pg_array *need_array(lua_State *L, int table, const char *name, pg_scalar scalar,
                            int64_t count) {
  pg_array *array = array_field(L, table, name, scalar, count);
  if (!array) {
    lua_getfield(L, table, name);
    fail_field(L, name, "an array");
  }
  return array;
}

static uint32_t check_table_size(lua_State *L, const pg_array *table) {
  const size_t size = table->count;
  if (size == 0 || (size & (size - 1)) || size > (size_t)1 << 31) {
    pg_error error = {0};
    tsdf_fail(&error, PG_RANGE, "a table of %zu entries: expected a power of two up to 2^31", size);
    pg_lua_raise(L, &error);
  }
  return (uint32_t)size;
}

static void centre_fields(lua_State *L, int table, double centre[3]) {
  centre[0] = number_field(L, table, "cam_x");
  centre[1] = number_field(L, table, "cam_y");
  centre[2] = number_field(L, table, "cam_z");
}

/* ---- scenes ---- */

static pg_array *scene_points(lua_State *L, int64_t *rows, int64_t *cols) {
  luaL_checktype(L, 1, LUA_TTABLE);
  *rows = integer_field(L, 1, "rows", 1, INT32_MAX);
  *cols = integer_field(L, 1, "cols", 1, INT32_MAX);
  return need_array(L, 1, "points", PG_F32, 3 * *rows * *cols);
}

/* sphere{points=f32[rows * cols][3], rows=, cols=, radius=, cam_x=, cam_y=, cam_z=}: metres. */
static int sphere(lua_State *L) {
  int64_t rows, cols;
  double centre[3];
  pg_array *points = scene_points(L, &rows, &cols);
  centre_fields(L, 1, centre);
  tsdf_sphere(points->data, centre, number_field(L, 1, "radius"), rows, cols);
  return 0;
}

/* plane{points=f32[rows * cols][3], rows=, cols=, half=, z=}: metres. */
static int plane(lua_State *L) {
  int64_t rows, cols;
  pg_array *points = scene_points(L, &rows, &cols);
  tsdf_plane(points->data, number_field(L, 1, "z"), number_field(L, 1, "half"), rows, cols);
  return 0;
}

/* scale{array=f32 array, factor=}: in place, in binary32. */
static int scale(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const pg_array *array = need_array(L, 1, "array", PG_F32, -1);
  const float factor = (float)number_field(L, 1, "factor");
  float *data = array->data;
  for (size_t i = 0; i < array->count; ++i) data[i] *= factor;
  return 0;
}

/* displace{points=f32 array, noise=f32 array of as many, factor=}: adds noise * factor in binary64.
 */
static int displace(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const pg_array *points = need_array(L, 1, "points", PG_F32, -1);
  const pg_array *noise = need_array(L, 1, "noise", PG_F32, (int64_t)points->count);
  const double factor = number_field(L, 1, "factor");
  float *p = points->data;
  const float *n = noise->data;
  for (size_t i = 0; i < points->count; ++i) p[i] = (float)(p[i] + n[i] * factor);
  return 0;
}

/* order{points=f32[n][3], voxel= | seed=}: puts the points in another order, in place: along the
 * Morton curve of voxels of that edge (metres), or at random. */
static int order(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  pg_array *points = need_array(L, 1, "points", PG_F32, -1);
  const size_t n = points->count / 3;
  float *moved = lua_newuserdatauv(L, points->count * sizeof *moved + 1, 0);
  if (lua_getfield(L, 1, "seed") != LUA_TNIL) {
    tsdf_order_shuffled(points->data, (uint32_t)n, (uint64_t)lua_tointeger(L, -1), moved);
  } else {
    uint64_t(*keys)[2] = lua_newuserdatauv(L, n * sizeof *keys + 1, 0);
    tsdf_order_morton(points->data, (uint32_t)n, number_field(L, 1, "voxel"), keys, moved);
  }
  memcpy(points->data, moved, points->count * sizeof *moved);
  return 0;
}

/* renumber{table=entries, coord=i32[...][3], place=i32[blocks]}: block b of a volume has the number
 * place[b] from now on; every number below `blocks` must be there once. */
static int renumber(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  pg_array *table = need_array(L, 1, "table", PG_STRUCT, -1);
  pg_array *coord = need_array(L, 1, "coord", PG_I32, -1);
  const pg_array *places = need_array(L, 1, "place", PG_I32, -1);
  const size_t blocks = places->count;
  const int32_t *place = places->data;
  pg_error error = {0};
  if (blocks > coord->count / 3) {
    tsdf_fail(&error, PG_RANGE, "%zu places, but coordinates of %zu", blocks, coord->count / 3);
    return pg_lua_raise(L, &error);
  }
  int32_t *at = coord->data, *moved = lua_newuserdatauv(L, 3 * blocks * sizeof *moved + 1, 0);
  for (size_t b = 0; b < blocks; ++b) {
    if (place[b] < 0 || (size_t)place[b] >= blocks) {
      tsdf_fail(&error, PG_RANGE, "block %zu at place %d of %zu", b, place[b], blocks);
      return pg_lua_raise(L, &error);
    }
    memcpy(&moved[3 * (size_t)place[b]], &at[3 * b], 3 * sizeof *at);
  }
  memcpy(at, moved, 3 * blocks * sizeof *at);
  tsdf_entry *entry = table->data;
  for (size_t i = 0; i < table->count; ++i)
    if (entry[i].block >= 0 && (size_t)entry[i].block < blocks)
      entry[i].block = place[entry[i].block];
  return 0;
}

/* ---- stencils ---- */

/* neighbors{coord=i32[...][3], neighbor=i32[blocks][27]}: fills neighbor with the numbers of the
 * blocks around each of the first blocks of coord; -1 where there is none. */
static int neighbors(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  pg_array *neighbor = need_array(L, 1, "neighbor", PG_I32, -1);
  const pg_array *coord = need_array(L, 1, "coord", PG_I32, -1);
  const size_t blocks = neighbor->count / TSDF_NEAR;
  pg_error error = {0};
  if (blocks > coord->count / 3 || blocks > INT32_MAX) {
    tsdf_fail(&error, PG_RANGE, "%zu blocks, but coordinates of %zu", blocks, coord->count / 3);
    return pg_lua_raise(L, &error);
  }
  if (tsdf_neighbors(coord->data, (uint32_t)blocks, neighbor->data, &error))
    return pg_lua_raise(L, &error);
  return 0;
}

/* stencil{field=f32[places][512], neighbor=i32[blocks][27], taps=7 or 27, sum=f64[blocks][512],
 * magnitude=f64[blocks][512]}: fills the sums over neighbouring voxels and those of magnitudes. */
static int stencil(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const pg_array *neighbor = need_array(L, 1, "neighbor", PG_I32, -1);
  const size_t blocks = neighbor->count / TSDF_NEAR, voxels = blocks * TSDF_BLOCK_VOXELS;
  const pg_array *field = need_array(L, 1, "field", PG_F32, -1);
  pg_array *sum = need_array(L, 1, "sum", PG_F64, (int64_t)voxels);
  pg_array *magnitude = need_array(L, 1, "magnitude", PG_F64, (int64_t)voxels);
  const int64_t taps = integer_field(L, 1, "taps", 7, 27);
  const int32_t *near = neighbor->data;
  for (size_t i = 0; i < neighbor->count; ++i) {
    if (near[i] < (int32_t)(field->count / TSDF_BLOCK_VOXELS)) continue;
    pg_error error = {0};
    tsdf_fail(&error, PG_RANGE, "neighbour %d of block %zu is not in the field", near[i], i / 27);
    return pg_lua_raise(L, &error);
  }
  tsdf_stencil(field->data, near, (uint32_t)blocks, (int)taps, sum->data, magnitude->data);
  return 0;
}

/* ---- the gathering update ---- */

static tsdf_image image_fields(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  tsdf_image image = {
      .side = (int)integer_field(L, 1, "side", 1, 1 << 14),
      .focal = (float)number_field(L, 1, "focal"),
      .centre = (float)number_field(L, 1, "centre"),
  };
  image.depth = need_array(L, 1, "depth", PG_F32, (int64_t)image.side * image.side)->data;
  double cam[3];
  centre_fields(L, 1, cam);
  for (int axis = 0; axis < 3; ++axis) image.cam[axis] = (float)cam[axis];
  return image;
}

/* depth{depth=f32[side][side], points=f32[n][3], side=, focal=, centre=, cam_x=, cam_y=, cam_z=}:
 * sets each pixel to the depth along z of the nearest point in it. */
static int depth(lua_State *L) {
  tsdf_image image = image_fields(L);
  const pg_array *points = need_array(L, 1, "points", PG_F32, -1);
  tsdf_depth(&image, points->data, points->count / 3);
  return 0;
}

static void check_active(lua_State *L, const int32_t *active, size_t count, size_t places) {
  for (size_t k = 0; k < count; ++k) {
    if (active[k] >= 0 && (size_t)active[k] < places) continue;
    pg_error error = {0};
    tsdf_fail(&error, PG_RANGE, "block %d of the list is not in a pool of %zu", active[k], places);
    pg_lua_raise(L, &error);
  }
}

/* dense{depth=, image_weight=f32[side][side], image_color=u8[side][side][3], side=, focal=,
 * centre=, cam_x=, cam_y=, cam_z=, voxel=, trunc=, inv_trunc=, coord=i32[...][3],
 * active=i32[count], tsdf=, weight=, r=, g=, b=, slack=f64[pool][512]}: adds to the sums of the
 * listed blocks what they gather, and sets slack. Returns how many voxels got something, and how
 * many may fall either way. */
static int dense(lua_State *L) {
  tsdf_image image = image_fields(L);
  const int64_t pixels = (int64_t)image.side * image.side;
  image.weight = need_array(L, 1, "image_weight", PG_F32, pixels)->data;
  image.color = need_array(L, 1, "image_color", PG_U8, 3 * pixels)->data;
  const pg_array *slack = need_array(L, 1, "slack", PG_F64, -1);
  tsdf_dense how = {
      .voxel = (float)number_field(L, 1, "voxel"),
      .trunc = (float)number_field(L, 1, "trunc"),
      .inv_trunc = (float)number_field(L, 1, "inv_trunc"),
      .slack = slack->data,
  };
  for (int i = 0; i < TSDF_SUMS; ++i)
    how.sums[i] = need_array(L, 1, SUMS[i], PG_F64, (int64_t)slack->count)->data;
  const pg_array *coord = need_array(L, 1, "coord", PG_I32, -1);
  const pg_array *active = need_array(L, 1, "active", PG_I32, -1);
  const size_t pool = slack->count / TSDF_BLOCK_VOXELS, known = coord->count / 3;
  const int32_t *list = active->data, *at = coord->data;
  check_active(L, list, active->count, pool < known ? pool : known);
  uint64_t seen = 0, optional = 0;
  for (size_t k = 0; k < active->count; ++k)
    tsdf_dense_block(&how, &image, list[k], at + 3 * (size_t)list[k], &seen, &optional);
  lua_pushinteger(L, (lua_Integer)seen);
  lua_pushinteger(L, (lua_Integer)optional);
  return 2;
}

/* ---- models ---- */

static tsdf_model *check_model(lua_State *L) {
  return luaL_checkudata(L, 1, MODEL_META);
}

static tsdf_view view_fields(lua_State *L, int table) {
  double cam[3];
  centre_fields(L, table, cam);
  return (tsdf_view){
      .cam = {(float)cam[0], (float)cam[1], (float)cam[2]},
      .voxel = (float)number_field(L, table, "voxel"),
      .inv_voxel = (float)number_field(L, table, "inv_voxel"),
      .trunc = (float)number_field(L, table, "trunc"),
      .inv_trunc = (float)number_field(L, table, "inv_trunc"),
      .steps = (int)integer_field(L, table, "steps", 0, 10000),
  };
}

/* Give the model at the stack's top its own table of the arrays, which must live as long as it
 * does. */
static void keep_arrays(lua_State *L) {
  static const char *const names[] = {"points", "weights", "colors", "initial"};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    lua_getfield(L, 1, names[i]);
    lua_setfield(L, -2, names[i]);
  }
  lua_setiuservalue(L, -2, 1);
}

/* model{points=f32[n][3], weights=f32[n], colors=u8[n][3], voxel=, inv_voxel=, trunc=, inv_trunc=,
 * steps=, cam_x=, cam_y=, cam_z=, initial=entries}: metres. Without weights and colours it judges
 * tables only. The arrays must not change while the model is used. Raises "range", "invalid",
 * "out_of_memory". */
static int model_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  const pg_array *points = need_array(L, 1, "points", PG_F32, -1);
  const int64_t n = (int64_t)(points->count / 3);
  const pg_array *weights = array_field(L, 1, "weights", PG_F32, n);
  const pg_array *colors = array_field(L, 1, "colors", PG_U8, 3 * n);
  const pg_array *initial = array_field(L, 1, "initial", PG_STRUCT, -1);
  const tsdf_input in = {
      .view = view_fields(L, 1),
      .points = points->data,
      .weights = weights ? weights->data : NULL,
      .colors = colors ? colors->data : NULL,
      .n = n > INT32_MAX ? UINT32_MAX : (uint32_t)n,
      .sums = weights && colors,
      .initial = initial ? initial->data : NULL,
      .initial_size = initial ? check_table_size(L, initial) : 0,
  };
  pg_error error = {0};
  tsdf_model *model = lua_newuserdatauv(L, sizeof *model, 1);
  *model = (tsdf_model){0};
  luaL_setmetatable(L, MODEL_META);
  keep_arrays(L);
  if (tsdf_model_new(model, &in, &error)) return pg_lua_raise(L, &error);
  return 1;
}

static int model_gc(lua_State *L) {
  tsdf_model_free(check_model(L));
  return 0;
}

static void set_integer(lua_State *L, const char *name, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static uint64_t touched_voxels(const tsdf_model *model) {
  uint64_t touched = 0;
  const size_t voxels = model->first ? (size_t)model->map.count * TSDF_BLOCK_VOXELS : 0;
  for (size_t v = 0; v < voxels; ++v) touched += model->first[v + 1] > model->first[v];
  return touched;
}

/* model:facts() -> {points, samples, optional_samples, blocks, optional_blocks, every_block,
 * voxels}. `blocks` and `samples` are of the plain binary32 walk; every_block and voxels count all
 * that may occur. */
static int model_facts(lua_State *L) {
  const tsdf_model *model = check_model(L);
  lua_newtable(L);
  set_integer(L, "points", model->in.n);
  set_integer(L, "samples", model->samples);
  set_integer(L, "optional_samples", model->optional_samples);
  set_integer(L, "blocks", model->nominal_blocks);
  set_integer(L, "optional_blocks", model->map.count - model->certain_blocks);
  set_integer(L, "every_block", model->map.count);
  set_integer(L, "voxels", touched_voxels(model));
  return 1;
}

/* model:volume{table=entries, coord=i32[capacity][3], every=boolean}: fills both with the
 * reference's own volume (every: with all blocks that may occur) and returns block_count,
 * drop_count. */
static int model_volume(lua_State *L) {
  const tsdf_model *model = check_model(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  pg_array *table = need_array(L, 2, "table", PG_STRUCT, -1);
  pg_array *coord = need_array(L, 2, "coord", PG_I32, -1);
  lua_getfield(L, 2, "every");
  const tsdf_choice choice = lua_toboolean(L, -1) ? TSDF_EVERY : TSDF_NOMINAL;
  int32_t blocks;
  uint64_t drops;
  pg_error error = {0};
  if (tsdf_model_volume(model, choice, table->data, check_table_size(L, table), coord->data,
                        (uint32_t)(coord->count / 3), &blocks, &drops, &error))
    return pg_lua_raise(L, &error);
  lua_pushinteger(L, blocks);
  lua_pushinteger(L, (lua_Integer)drops);
  return 2;
}

/* The weight that the points of one block's voxels bring; of the first such voxel only when
 * `single`. */
static void block_weights(const tsdf_model *model, uint32_t block, bool single, float *weight) {
  const uint32_t *first = model->first + (size_t)block * TSDF_BLOCK_VOXELS;
  bool done = false;
  for (int v = 0; v < TSDF_BLOCK_VOXELS && !(single && done); ++v) {
    for (uint32_t at = first[v]; at < first[v + 1]; ++at)
      weight[v] += model->in.weights[model->records[at] >> 1];
    done = weight[v] > 0;
  }
}

/* model:weights{weight=f32[places][512], keep=u8[blocks]}: adds what the points bring to the volume
 * of volume{every=true}; keep of a block is 0: nothing, 1: all, 2: a single voxel. Places without a
 * block stay as they are. */
static int model_weights(lua_State *L) {
  const tsdf_model *model = check_model(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  pg_array *weight = need_array(L, 2, "weight", PG_F32, -1);
  const pg_array *keep = need_array(L, 2, "keep", PG_U8, -1);
  if (!model->in.sums || model->in.initial || keep->count > model->map.count ||
      keep->count > weight->count / TSDF_BLOCK_VOXELS) {
    pg_error error = {0};
    tsdf_fail(&error, PG_INVALID,
              "weights need a model with weights, of an empty volume, and room for its blocks");
    return pg_lua_raise(L, &error);
  }
  const uint8_t *kept = keep->data;
  for (uint32_t b = 0; b < keep->count; ++b) {
    float *voxels = (float *)weight->data + (size_t)b * TSDF_BLOCK_VOXELS;
    if (kept[b]) block_weights(model, b, kept[b] == 2, voxels);
  }
  return 0;
}

/* ---- judging ---- */

static void push_checks(lua_State *L, const tsdf_report *report) {
  lua_createtable(L, report->count, 0);
  for (int i = 0; i < report->count; ++i) {
    const tsdf_check *check = &report->checks[i];
    lua_createtable(L, 0, 3);
    lua_pushstring(L, check->name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, check->ok);
    lua_setfield(L, -2, "ok");
    lua_pushstring(L, check->detail);
    lua_setfield(L, -2, "detail");
    lua_rawseti(L, -2, i + 1);
  }
}

static tsdf_volume volume_fields(lua_State *L, int table) {
  const pg_array *entries = need_array(L, table, "table", PG_STRUCT, -1);
  tsdf_volume volume = {
      .table = entries->data,
      .size = check_table_size(L, entries),
      .capacity = (uint32_t)integer_field(L, table, "capacity", 0, INT32_MAX / 512),
  };
  return volume;
}

static void table_part(lua_State *L, const tsdf_model *model, tsdf_volume *volume,
                       tsdf_report *report) {
  tsdf_table_facts facts = {0};
  volume->coord = need_array(L, 2, "coord", PG_I32, 3 * (int64_t)volume->capacity)->data;
  volume->block_count = *(int32_t *)need_array(L, 2, "block_count", PG_I32, 1)->data;
  volume->drop_count = *(uint64_t *)need_array(L, 2, "drop_count", PG_U64, 1)->data;
  tsdf_verify_table(model, volume, report, &facts);
  set_integer(L, "blocks", facts.blocks);
  set_integer(L, "optional_blocks", facts.optional_blocks);
  set_integer(L, "drops", facts.dropped);
  set_integer(L, "probes", facts.probes);
  set_integer(L, "probes_max", facts.probes_max);
  set_number(L, "probes_mean", facts.probes_mean);
}

static void sphere_part(lua_State *L, const tsdf_model *model, const tsdf_volume *volume,
                        const int32_t *places, tsdf_report *report) {
  lua_getfield(L, 2, "sphere");
  if (lua_istable(L, -1)) {
    const int at = lua_gettop(L);
    double centre[3], worst;
    uint64_t crossings;
    centre_fields(L, at, centre);
    tsdf_verify_sphere(model, volume, places, centre, number_field(L, at, "radius"), 0.25, report,
                       &worst, &crossings);
    lua_pushvalue(L, at - 1); /* the facts */
    set_number(L, "surface_error_voxels", worst);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Which blocks of a sum a list of first and end bytes touches, in Lua's memory on the stack; NULL
 * when there is no list. */
static const uint8_t *touched_blocks(lua_State *L, int lists, const char *name, uint32_t capacity) {
  const size_t block_bytes = TSDF_BLOCK_VOXELS * sizeof(float);
  if (lua_getfield(L, lists, name) != LUA_TTABLE) return NULL;
  const int list = lua_gettop(L);
  uint8_t *touched = lua_newuserdatauv(L, capacity + 1, 0);
  memset(touched, 0, capacity + 1);
  for (lua_Integer i = 1; lua_geti(L, list, i) == LUA_TNUMBER; i += 2) {
    lua_geti(L, list, i + 1);
    const size_t first = (size_t)lua_tointeger(L, -2), end = (size_t)lua_tointeger(L, -1);
    lua_pop(L, 2);
    for (size_t b = first / block_bytes; b * block_bytes < end && b < capacity; ++b) touched[b] = 1;
  }
  lua_pop(L, 1); /* what ended the list; the bytes stay */
  return touched;
}

/* Leaves the bytes on the stack for as long as the caller runs. */
static void touched_part(lua_State *L, tsdf_volume *volume) {
  if (lua_getfield(L, 2, "touched") != LUA_TTABLE) return;
  const int lists = lua_gettop(L);
  luaL_checkstack(L, 3 * TSDF_SUMS, NULL);
  for (int a = 0; a < TSDF_SUMS; ++a)
    volume->touched[a] = touched_blocks(L, lists, SUMS[a], volume->capacity);
}

static void sums_part(lua_State *L, tsdf_model *model, tsdf_volume *volume, tsdf_report *report) {
  tsdf_sum_facts facts = {0};
  pg_error error = {0};
  for (int a = 0; a < TSDF_SUMS; ++a)
    volume->sums[a] =
        need_array(L, 2, SUMS[a], PG_F32, (int64_t)volume->capacity * TSDF_BLOCK_VOXELS)->data;
  const int facts_at = lua_gettop(L);
  touched_part(L, volume);
  lua_pushvalue(L, facts_at);
  /* Lua's memory: an error below leaves nothing behind. */
  int32_t *places = lua_newuserdatauv(L, (model->map.count + 1) * sizeof *places, 0);
  lua_insert(L, -2); /* under the facts */
  tsdf_places(model, volume, places);
  const double weight_cap = number_field(L, 2, "weight_cap");
  tsdf_bounds_keep(model, weight_cap > 0);
  if (tsdf_verify_sums(model, volume, places, weight_cap, report, &facts, &error))
    pg_lua_raise(L, &error);
  set_integer(L, "voxels", facts.voxels);
  set_number(L, "rejected", facts.rejected);
  set_number(L, "tightness", facts.tightness);
  sphere_part(L, model, volume, places, report);
  lua_settop(L, facts_at);
}

/* model:verify{table=entries, capacity=, [coord=, block_count=i32[1], drop_count=u64[1],] [tsdf=,
 * weight=, r=, g=, b=, weight_cap=, sphere={radius=, cam_x=, cam_y=, cam_z=},
 * touched={tsdf={first byte, end, ...}, ...}]} -> {ok, checks =
 * {{name, ok, detail}...}, facts}. Judges the table when coord is given; the sums when tsdf is and
 * the table was right. */
static int model_verify(lua_State *L) {
  tsdf_model *model = check_model(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  tsdf_report report = {.ok = true};
  tsdf_volume volume = volume_fields(L, 2);
  lua_newtable(L); /* the facts */
  if (array_field(L, 2, "coord", PG_I32, -1)) table_part(L, model, &volume, &report);
  if (report.ok && array_field(L, 2, "tsdf", PG_F32, -1)) {
    if (!model->in.sums) {
      pg_error error = {0};
      tsdf_fail(&error, PG_INVALID, "the model was made without weights and colours");
      return pg_lua_raise(L, &error);
    }
    sums_part(L, model, &volume, &report);
  }
  lua_createtable(L, 0, 3);
  lua_pushboolean(L, report.ok);
  lua_setfield(L, -2, "ok");
  push_checks(L, &report);
  lua_setfield(L, -2, "checks");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "facts");
  return 1;
}

PG_API int luaopen_hash_tsdf_reference(lua_State *L) {
  static const luaL_Reg methods[] = {{"facts", model_facts},
                                     {"volume", model_volume},
                                     {"weights", model_weights},
                                     {"verify", model_verify},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"sphere", sphere}, {"plane", plane},     {"scale", scale},         {"displace", displace},
      {"depth", depth},   {"dense", dense},     {"neighbors", neighbors}, {"stencil", stencil},
      {"order", order},   {"model", model_new}, {"renumber", renumber},   {NULL, NULL}};
  luaL_newmetatable(L, MODEL_META);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, model_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  return 1;
}
