#include "arguments.h"

#include <string.h>

enum { kContiguous = 0x1, kFortran = 0x2, kAligned = 0x100, kWriteable = 0x400 }; /* of array.flags */

PyTypeObject* ndarray_type;

static int is_native(const struct array* a) {
  return a->descr->byteorder == '=' || a->descr->byteorder == '|';
}

static int has_shape(const struct call* c, const struct array* a) {
  return a->nd == c->nd && memcmp(a->dimensions, c->shape, (size_t)a->nd * sizeof(Py_ssize_t)) == 0;
}

int has_extents(PyObject* value, int nd, const Py_ssize_t* shape) {
  if (Py_TYPE(value) != ndarray_type) return 0;
  const struct array* a = (struct array*)value;
  return is_native(a) && a->nd == nd && (nd == 0 || memcmp(a->dimensions, shape, (size_t)nd * sizeof(Py_ssize_t)) == 0);
}

int lie_alike(const struct array* from, const struct array* to) {
  const int flags = kAligned | kWriteable, both = from->flags & to->flags;
  return (to->flags & flags) == flags && (both & (kContiguous | kFortran)) != 0;
}

/* Returns whether `value` is an array as the kernel takes it; of the shape of those before. */
static int take_array(struct call* c, PyObject* value, const struct argument* taken) {
  if (Py_TYPE(value) != ndarray_type) return 0;
  struct array* a = (struct array*)value;
  if (a->descr->type_num != taken->type_num || !is_native(a) || a->nd == 0) return 0;
  const int flags = (c->is_fortran ? kFortran : kContiguous) | kAligned;
  if ((a->flags & flags) != flags) return 0;
  if (c->shape == NULL) {
    c->shape = a->dimensions;
    c->nd = a->nd;
    c->n = 1;
    for (int i = 0; i < a->nd; ++i) c->n *= (uint64_t)a->dimensions[i];
  } else if (!has_shape(c, a)) {
    return 0;
  }
  c->in_bytes[c->in_count] = taken->bytes;
  c->in[c->in_count++] = a->data;
  return 1;
}

static int take_arguments(struct call* c, const bound* b, PyObject* const* values) {
  int scalars = 0;
  c->shape = NULL;
  c->is_strided = 0;
  c->in_count = 0;
  for (int i = 0; i < b->count; ++i) {
    const struct argument* const a = &b->arguments[i];
    PyObject* const value = values[a->place];
    if (!(a->bytes == 0 ? take_number(&c->params[scalars++], value, a) : take_array(c, value, a))) return 0;
  }
  return c->shape != NULL && c->n != 0;
}

static int take_numbers(struct call* c, const bound* b, PyObject* const* values) {
  for (int i = 0; i < b->count; ++i) {
    if (!take_number(&c->params[i], values[b->arguments[i].place], &b->arguments[i])) return 0;
    c->in[i] = &c->params[i];
    c->in_bytes[i] = (int)sizeof c->params[i];
  }
  c->in_count = b->count;
  c->n = 1;
  c->nd = c->is_strided = c->is_fortran = 0;
  c->shape = c->extents;
  return 1;
}

/* Returns whether all that the kernel writes is one number. A reduction of contiguous arrays goes through memory; of
 * others, in the order of indices. */
static int is_reduced(const bound* b) {
  return b->output_count == 1 && b->outputs[0].is_reduced;
}

/* Returns whether contiguous arguments in C's order, or all in Fortran's, make a result that `order` puts there, too.
 */
static int has_layout(const struct call* c, const bound* b, PyObject* const* values) {
  if (c->nd == 1) return 1;
  if (is_reduced(b)) return !c->is_fortran || b->outputs[0].is_reduced != kPlace;
  if (!c->is_fortran) {
    const struct array* first = NULL;
    for (int i = 0; first == NULL; ++i)
      if (b->arguments[i].bytes != 0) first = (struct array*)values[b->arguments[i].place];
    return b->layout == 'K' || b->layout == 'C' || (b->layout == 'A' && !(first->flags & kFortran));
  }
  for (int i = 0; b->layout == 'K' && i < c->nd; ++i)
    if (c->shape[i] == 1) return 0; /* whose steps NumPy's iterator copies */
  return b->layout != 'C';
}

/* Widens the shape so that `value`, an array with steps between its elements, may be broadcast to it. */
static int widen_shape(struct call* c, PyObject* value, const struct argument* taken) {
  if (Py_TYPE(value) != ndarray_type) return 0;
  const struct array* a = (struct array*)value;
  if (a->descr->type_num != taken->type_num || !is_native(a) || a->nd == 0 || a->nd > kStridedMax) return 0;
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

/* Returns whether a result in C order has the order of this array's dimensions, too. */
static int set_strides(struct call* c, const struct array* a) {
  int64_t* const strides = c->strides[c->in_count];
  uint64_t outer = UINT64_MAX;
  int in_c_order = 1;
  for (int i = 0, own = a->nd - c->nd; i < c->nd; ++i, ++own) {
    strides[i] = own < 0 || a->dimensions[own] == 1 ? 0 : a->strides[own];
    if (strides[i] == 0) continue;
    const uint64_t step = strides[i] < 0 ? -(uint64_t)strides[i] : (uint64_t)strides[i];
    in_c_order &= step <= outer;
    outer = step;
  }
  c->in[c->in_count] = a->data;
  return in_c_order;
}

/* Returns whether the first index is the fastest in all arrays, and one of them says so of every two indices. */
static int in_fortran_order(const struct call* c) {
  int said = 0;
  for (int i = 0; i < c->in_count; ++i) {
    int64_t outer = 0;
    int steps = 0;
    for (int j = 0; j < c->nd; ++j) {
      const int64_t step = c->strides[i][j] < 0 ? -c->strides[i][j] : c->strides[i][j];
      if (c->extents[j] == 1) return 0; /* whose steps NumPy's iterator copies */
      if (step == 0) continue;
      if (outer >= step && steps > 0) return 0;
      outer = step;
      ++steps;
    }
    said |= steps == c->nd;
  }
  return said;
}

/* Turns the order of dimensions round, so that the result lies in Fortran's. */
static void reverse_dimensions(struct call* c) {
  for (int j = 0, last = c->nd - 1; j < last; ++j, --last) {
    const Py_ssize_t extent = c->extents[j];
    c->extents[j] = c->extents[last];
    c->extents[last] = extent;
    for (int i = 0; i < c->in_count; ++i) {
      const int64_t step = c->strides[i][j];
      c->strides[i][j] = c->strides[i][last];
      c->strides[i][last] = step;
    }
  }
  c->is_fortran = 1;
}

/* Puts the dimensions in the order in which the result lies. Returns 0 where `order` wants another than C's or
 * Fortran's, or the latter where `outs` or several results are not made for it. */
static int set_layout(struct call* c, const bound* b, int in_c_order, int has_outs) {
  if (is_reduced(b)) return 1;
  if (b->layout == 'C' || (b->layout == 'K' && in_c_order)) return 1;
  if (has_outs || b->casting == Py_None || b->parts != Py_None) return 0;
  if (b->layout == 'K' && !in_fortran_order(c)) return 0;
  reverse_dimensions(c);
  return 1;
}

/* Returns whether no array is broadcast: each result of a text of several has the shape of its own arrays. */
static int have_one_shape(const struct call* c, const bound* b, PyObject* const* values) {
  for (int i = 0; i < b->count; ++i)
    if (b->arguments[i].bytes != 0 && !has_extents(values[b->arguments[i].place], c->nd, c->extents)) return 0;
  return 1;
}

/* Does as take_arguments() for arrays that are not contiguous, or are broadcast. */
static int take_strided(struct call* c, const bound* b, PyObject* const* values, int has_outs) {
  int scalars = 0, in_c_order = 1;
  c->nd = c->is_fortran = 0;
  for (int i = 0; i < b->count; ++i) {
    const struct argument* const a = &b->arguments[i];
    PyObject* const value = values[a->place];
    if (!(a->bytes == 0 ? take_number(&c->params[scalars++], value, a) : widen_shape(c, value, a))) return 0;
  }
  c->in_count = 0;
  for (int i = 0; i < b->count; ++i) {
    const struct argument* const a = &b->arguments[i];
    if (a->bytes == 0) continue;
    in_c_order &= set_strides(c, (struct array*)values[a->place]);
    c->in_bytes[c->in_count++] = a->bytes;
  }
  c->shape = c->extents;
  c->is_strided = 1;
  c->n = 1;
  for (int i = 0; i < c->nd; ++i) c->n *= (uint64_t)c->extents[i];
  if (c->in_count == 0 || c->n == 0 || (b->parts != Py_None && !have_one_shape(c, b, values))) return 0;
  return set_layout(c, b, in_c_order, has_outs);
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

/* Returns whether no two elements of `o` meet, as far as that shows in the order of its dimensions. */
static int set_out_strides(const struct call* c, int64_t* strides, const struct array* o, int bytes) {
  int64_t needed = bytes;
  for (int i = c->nd; i-- > 0;) {
    strides[i] = c->extents[i] == 1 ? 0 : o->strides[i];
    if (c->extents[i] == 1) continue;
    const int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
    if (step < needed) return 0;
    needed = step * c->extents[i];
  }
  return 1;
}

/* Sets the bytes that `o` lies in, an array for output `i` of the call. Returns 0 where the kernel may not write there.
 */
static int set_out(struct call* c, const bound* b, int i, const struct array* o, struct range* r) {
  const int bytes = b->outputs[i].bytes;
  c->out[i] = o->data;
  if (c->is_strided) {
    if (!set_out_strides(c, c->out_strides[i], o, bytes)) return 0;
    *r = range_of(c, o->data, c->out_strides[i], bytes);
    return 1;
  }
  const int flags = (c->is_fortran ? kFortran : kContiguous) | kAligned;
  r->first = (uintptr_t)o->data;
  r->end = r->first + c->n * (uint64_t)bytes;
  return (o->flags & flags) == flags;
}

/* Returns whether input `i` shares memory with output 0 so that the kernel cannot write there. */
static int meets_input(const struct call* c, const bound* b, int i, const struct range* r) {
  const int is_same_size = c->in_bytes[i] == b->outputs[0].bytes && b->output_count == 1;
  if (!c->is_strided) {
    const uintptr_t in = (uintptr_t)c->in[i], end = in + c->n * (uint64_t)c->in_bytes[i];
    return !(in == r->first && is_same_size) && in < r->end && r->first < end;
  }
  const struct range in = range_of(c, c->in[i], c->strides[i], c->in_bytes[i]);
  const int same = c->in[i] == c->out[0] && is_same_size &&
                   memcmp(c->strides[i], c->out_strides[0], (size_t)c->nd * sizeof(int64_t)) == 0;
  return !same && in.first < r->end && r->first < in.end;
}

/* Returns whether the kernel may write to `outs`: arrays of the results' shape and types that share no memory with each
 * other or with an argument, unless a single one is the very same elements. */
static int takes_outs(struct call* c, const bound* b, PyObject* const* outs) {
  struct range ranges[kOutputsMax];
  for (int i = 0; i < b->output_count; ++i) {
    const struct array* const o = (struct array*)outs[i];
    if (b->outputs[i].is_reduced || !has_extents(outs[i], c->nd, c->shape) || !(o->flags & kWriteable)) return 0;
    if (o->descr->type_num != b->outputs[i].type_num || !set_out(c, b, i, o, &ranges[i])) return 0;
    for (int j = 0; j < c->in_count; ++j)
      if (meets_input(c, b, j, &ranges[i])) return 0;
    for (int j = 0; j < i; ++j)
      if (ranges[j].first < ranges[i].end && ranges[i].first < ranges[j].end) return 0;
  }
  return 1;
}

static int take_contiguous(struct call* c, const bound* b, PyObject* const* values, int is_fortran) {
  c->is_fortran = is_fortran;
  return take_arguments(c, b, values) && has_layout(c, b, values);
}

int take_call(struct call* c, const bound* b, PyObject* const* values, PyObject* const* outs) {
  if (b->has_numbers_only) return outs == NULL && take_numbers(c, b, values);
  const int layouts = b->casting == Py_None ? 1 : 2; /* a Kernel sums and counts elements in C's order */
  for (int is_fortran = 0; is_fortran < layouts; ++is_fortran)
    if (take_contiguous(c, b, values, is_fortran) && (outs == NULL || takes_outs(c, b, outs))) return 1;
  return b->layout != 'A' && take_strided(c, b, values, outs != NULL) && (outs == NULL || takes_outs(c, b, outs));
}
