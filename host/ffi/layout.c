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

/* The alignment of a member, in bytes. */
static uint32_t align_of(const ct_field *field, const ct_layout *how, uint32_t index) {
  uint32_t demanded = how->aligns ? how->aligns[index] : 0;
  bool packed = how->packed || (how->packs && how->packs[index]);
  uint32_t align = packed ? 1 : ct_align(field->type);
  if (demanded > align) align = demanded;
  if (how->pack && how->pack < align) align = how->pack;
  return align;
}

/* A bit-field shares a unit of its type with the one before where it fits into it. */
static void place_bits(ct_field *field, const ct_layout *how, uint32_t index, uint32_t align,
                       place *at) {
  size_t unit = field->type->base->size * 8, width = field->bits;
  bool packed = how->packed || (how->packs && how->packs[index]);
  size_t mask = (size_t)align * 8;
  bool demanded = how->aligns && how->aligns[index];
  if (width == 0) {
    at->bits = round_up(at->bits, unit);
    return;
  }
  if (demanded || (!packed && at->bits % unit + width > unit)) at->bits = round_up(at->bits, mask);
  size_t first = packed ? at->bits / 8 * 8 : at->bits / unit * unit;
  field->offset = first / 8;
  field->bit = (uint8_t)(at->bits - first);
  at->bits += width;
}

static bool place_member(ct_field *field, const ct_layout *how, uint32_t index, place *at) {
  uint32_t align = align_of(field, how, index);
  if (field->bits || field->value) { /* value 1: a bit-field of width 0 */
    place_bits(field, how, index, align, at);
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
