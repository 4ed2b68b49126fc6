/* Where the members of a struct or union lie, as gcc places them on this machine's ABI.
 * And the way back: the member of a name. */
#include "types.h"

#include <string.h>

typedef struct place {
  size_t bits; /* where the next member may begin */
  size_t most; /* the end of the longest member, in bits */
  uint32_t align;
} place;

static size_t round_up(size_t value, size_t to) {
  return (value + to - 1) / to * to;
}

static bool is_packed(const ct_layout *how, uint32_t index) {
  return how->packed || (how->packs && how->packs[index]);
}

/* #pragma pack bounds what everything else asks for. */
static uint32_t bounded(const ct_layout *how, uint32_t align) {
  return how->pack && how->pack < align ? how->pack : align;
}

static uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* The alignment of a member, in bytes; `of_type` is what its type asks for. */
static uint32_t align_of(const ct_layout *how, uint32_t index, uint32_t of_type) {
  uint32_t demanded = how->aligns ? how->aligns[index] : 0;
  return bounded(how, larger(is_packed(how, index) ? 1 : of_type, demanded));
}

/* A bit-field as wide as an integer, where such an integer may lie, is one. */
static bool is_whole(size_t width, size_t at) {
  return (width == 8 || width == 16 || width == 32 || width == 64) && at % width == 0;
}

/* Where a bit-field begins: at the next bit, or at an alignment of its own. One that would lie in
 * more units of its type than it must begins at the type's alignment, unless something is packed.
 */
static size_t first_bit(const ct_field *field, const ct_layout *how, uint32_t index, size_t at) {
  size_t unit = field->type->base->size * 8, align = (size_t)ct_align(field->type) * 8;
  uint32_t demanded = how->aligns ? how->aligns[index] : 0;
  bool packed = is_packed(how, index), whole = !packed && is_whole(field->bits, at);
  if (field->bits) demanded = bounded(how, demanded);
  if (demanded) at = round_up(at, (size_t)demanded * 8);
  if (field->bits == 0) return round_up(at, align);
  if (how->pack || packed || whole) return at;
  return at % align + field->bits > unit || align > unit ? round_up(at, align) : at;
}

/* Gives the alignment that it asks of the struct. */
static uint32_t place_bits(ct_field *field, const ct_layout *how, uint32_t index, place *at) {
  size_t unit = field->type->base->size * 8;
  bool packed = is_packed(how, index), whole = !packed && is_whole(field->bits, at->bits);
  at->bits = first_bit(field, how, index, at->bits);
  size_t first = at->bits / unit * unit; /* of the unit, or where two are touched, of the byte */
  if (packed || at->bits + field->bits > first + unit) first = at->bits / 8 * 8;
  field->offset = first / 8;
  field->bit = (uint8_t)(at->bits - first);
  at->bits += field->bits;
  uint32_t of_type = larger(ct_align(field->type), whole ? field->bits / 8 : 1);
  if (packed && how->pack)
    return bounded(how, larger(of_type, how->aligns ? how->aligns[index] : 0));
  return align_of(how, index, of_type);
}

static bool place_member(ct_field *field, const ct_layout *how, uint32_t index, place *at) {
  uint32_t align = align_of(how, index, ct_align(field->type));
  if (field->bits || field->value) { /* value 1: a bit-field of width 0 */
    align = place_bits(field, how, index, at);
    if (!field->name) return true; /* padding asks for no alignment */
  } else {
    size_t size = field->type->base->size;
    if (size == CT_NOSIZE) size = 0; /* a flexible array, at the end */
    at->bits = round_up(at->bits, (size_t)align * 8);
    field->offset = at->bits / 8;
    if (size > CT_SIZE_MAX / 8 - at->bits / 8) return false;
    at->bits += size * 8;
  }
  if (align > at->align) at->align = align;
  return true;
}

bool ct_lay_out(ctype *type, const ct_layout *how) {
  place at = {.align = how->align ? how->align : 1};
  for (uint32_t i = 0; i < type->count; i++) {
    if (type->is_union) at.bits = 0;
    if (!place_member(&type->fields[i], how, i, &at)) return false;
    if (at.bits > at.most) at.most = at.bits;
  }
  type->align = at.align;
  type->size = round_up((at.most + 7) / 8, at.align);
  return type->size < CT_SIZE_MAX;
}

const ct_field *ct_member(const ctype *type, const char *name, size_t *offset) {
  for (uint32_t i = 0; i < type->count; i++) {
    const ct_field *field = &type->fields[i];
    if (field->name && strcmp(field->name, name) == 0) {
      *offset = field->offset;
      return field;
    }
    if (field->name || field->type->kind != CT_STRUCT) continue;
    const ct_field *found = ct_member(field->type->base, name, offset);
    if (found) {
      *offset += field->offset;
      return found;
    }
  }
  return NULL;
}
