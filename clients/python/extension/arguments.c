#include "arguments.h"

#include <string.h>

enum { kContiguous = 0x1, kAligned = 0x100, kWriteable = 0x400 }; /* of array.flags */
enum { kInt64 = 7, kDouble = 12 };                                /* numbers of NumPy's types: 'l', 'd' */

PyTypeObject* ndarray_type;

static int is_native(const struct array* a) {
  return a->descr->byteorder == '=' || a->descr->byteorder == '|';
}

static int has_shape(const struct call* c, const struct array* a) {
  return a->nd == c->nd && memcmp(a->dimensions, c->shape, (size_t)a->nd * sizeof(Py_ssize_t)) == 0;
}

/* Returns whether `value` is an array as the kernel takes it; of the shape of those before. */
static int take_array(struct call* c, PyObject* value, int type_num, int bytes) {
  if (Py_TYPE(value) != ndarray_type) return 0;
  struct array* a = (struct array*)value;
  if (a->descr->type_num != type_num || !is_native(a) || a->nd == 0) return 0;
  if ((a->flags & (kContiguous | kAligned)) != (kContiguous | kAligned)) return 0;
  if (c->shape == NULL) {
    c->shape = a->dimensions;
    c->nd = a->nd;
    c->n = 1;
    for (int i = 0; i < a->nd; ++i) c->n *= (uint64_t)a->dimensions[i];
  } else if (!has_shape(c, a)) {
    return 0;
  }
  c->in_bytes[c->in_count] = bytes;
  c->in[c->in_count++] = a->data;
  return 1;
}

/* Returns whether `value` is a Python number of the type that the kernel takes. */
static int take_number(uint64_t* param, PyObject* value, int type_num) {
  if (type_num == kDouble && PyFloat_CheckExact(value)) {
    const double number = PyFloat_AsDouble(value);
    memcpy(param, &number, sizeof number);
    return 1;
  }
  if (type_num != kInt64 || !PyLong_CheckExact(value)) return 0;
  int overflow = 0;
  *param = (uint64_t)PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

static int take_arguments(struct call* c, const bound* b, PyObject* const* values) {
  int scalars = 0;
  c->shape = NULL;
  c->is_strided = 0;
  c->in_count = 0;
  for (int i = 0; i < b->count; ++i)
    if (!(b->bytes[i] == 0 ? take_number(&c->params[scalars++], values[i], b->type_num[i])
                           : take_array(c, values[i], b->type_num[i], b->bytes[i])))
      return 0;
  return c->shape != NULL && c->n != 0;
}

/* Widens the shape so that `value`, an array with steps between its elements, may be broadcast to it. */
static int widen_shape(struct call* c, PyObject* value, int type_num) {
  if (Py_TYPE(value) != ndarray_type) return 0;
  const struct array* a = (struct array*)value;
  if (a->descr->type_num != type_num || !is_native(a) || a->nd == 0 || a->nd > kStridedMax) return 0;
  for (; c->nd < a->nd; ++c->nd) {
    memmove(c->extents + 1, c->extents, (size_t)c->nd * sizeof *c->extents);
    c->extents[0] = 1;
  }
  Py_ssize_t* const last = c->extents + c->nd - a->nd;
  for (int i = 0; i < a->nd; ++i) {
    if (a->dimensions[i] == last[i] || a->dimensions[i] == 1) continue;
    if (last[i] != 1) return 0;
    last[i] = a->dimensions[i];
  }
  return 1;
}

/* Returns whether the result, whose elements lie in C order, has the order of this array's dimensions, too. */
static int set_strides(struct call* c, const struct array* a) {
  int64_t* const strides = c->strides[c->in_count];
  uint64_t outer = UINT64_MAX;
  for (int i = 0, own = a->nd - c->nd; i < c->nd; ++i, ++own) {
    strides[i] = own < 0 || a->dimensions[own] == 1 ? 0 : a->strides[own];
    if (strides[i] == 0) continue;
    const uint64_t step = strides[i] < 0 ? -(uint64_t)strides[i] : (uint64_t)strides[i];
    if (step > outer) return 0;
    outer = step;
  }
  c->in[c->in_count] = a->data;
  return 1;
}

/* Does as take_arguments() for arrays that are not contiguous, or are broadcast. */
static int take_strided(struct call* c, const bound* b, PyObject* const* values) {
  int scalars = 0;
  c->nd = 0;
  for (int i = 0; i < b->count; ++i)
    if (!(b->bytes[i] == 0 ? take_number(&c->params[scalars++], values[i], b->type_num[i])
                           : widen_shape(c, values[i], b->type_num[i])))
      return 0;
  c->in_count = 0;
  for (int i = 0; i < b->count; ++i) {
    if (b->bytes[i] == 0) continue;
    if (!set_strides(c, (struct array*)values[i])) return 0;
    c->in_bytes[c->in_count++] = b->bytes[i];
  }
  c->shape = c->extents;
  c->is_strided = 1;
  c->n = 1;
  for (int i = 0; i < c->nd; ++i) c->n *= (uint64_t)c->extents[i];
  return c->in_count != 0 && c->n != 0;
}

/* The bytes that elements of `bytes` bytes lie in. */
struct range {
  uintptr_t first, end;
};
static struct range range_of(const struct call* c, const void* data, const int64_t* strides, int bytes) {
  struct range r = {(uintptr_t)data, (uintptr_t)data + (uintptr_t)bytes};
  for (int i = 0; i < c->nd; ++i) {
    const uintptr_t reach = (uintptr_t)(strides[i] * (int64_t)(c->extents[i] - 1)); /* modulo 2^64 */
    if (strides[i] < 0)
      r.first += reach;
    else
      r.end += reach;
  }
  return r;
}

/* Returns whether no two elements of `out` meet, as far as that shows in the order of its dimensions. */
static int set_out_strides(struct call* c, const struct array* o, int bytes) {
  int64_t needed = bytes;
  for (int i = c->nd; i-- > 0;) {
    c->out_strides[i] = c->extents[i] == 1 ? 0 : o->strides[i];
    if (c->extents[i] == 1) continue;
    const int64_t step = c->out_strides[i] < 0 ? -c->out_strides[i] : c->out_strides[i];
    if (step < needed) return 0;
    needed = step * c->extents[i];
  }
  return 1;
}

/* Does as takes_out() for a call of take_strided(). */
static int takes_strided_out(struct call* c, const bound* b, PyObject* out) {
  if (Py_TYPE(out) != ndarray_type || b->result != kArray) return 0;
  const struct array* o = (struct array*)out;
  if (o->descr->type_num != ((struct descr*)b->dtype)->type_num || !is_native(o) || !(o->flags & kWriteable)) return 0;
  if (!has_shape(c, o) || !set_out_strides(c, o, b->out_bytes)) return 0;
  const struct range r = range_of(c, o->data, c->out_strides, b->out_bytes);
  for (int i = 0; i < c->in_count; ++i) {
    const struct range in = range_of(c, c->in[i], c->strides[i], c->in_bytes[i]);
    const int same = c->in[i] == o->data && c->in_bytes[i] == b->out_bytes &&
                     memcmp(c->strides[i], c->out_strides, (size_t)c->nd * sizeof(int64_t)) == 0;
    if (!same && in.first < r.end && r.first < in.end) return 0;
  }
  return 1;
}

/* Returns whether the kernel may write to `out`: an array of the result's shape and type that shares no memory with an
 * argument, unless it is the very same elements. */
static int takes_out(const struct call* c, const bound* b, PyObject* out) {
  if (Py_TYPE(out) != ndarray_type || b->result != kArray) return 0;
  const struct array* o = (struct array*)out;
  const struct descr* wanted = (struct descr*)b->dtype;
  const int flags = kContiguous | kAligned | kWriteable;
  if (o->descr->type_num != wanted->type_num || !is_native(o) || (o->flags & flags) != flags) return 0;
  if (!has_shape(c, o)) return 0;
  const uintptr_t first = (uintptr_t)o->data, end = first + c->n * (uint64_t)b->out_bytes;
  for (int i = 0; i < c->in_count; ++i) {
    const uintptr_t in = (uintptr_t)c->in[i], in_end = in + c->n * (uint64_t)c->in_bytes[i];
    const int same = in == first && in_end == end;
    if (!same && in < end && first < in_end) return 0;
  }
  return 1;
}

int take_call(struct call* c, const bound* b, PyObject* const* values, PyObject* out) {
  if (take_arguments(c, b, values) && (out == NULL || takes_out(c, b, out))) return 1;
  return take_strided(c, b, values) && (out == NULL || takes_strided_out(c, b, out));
}
