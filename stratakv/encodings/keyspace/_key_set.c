/* A set of keys that remembers 64 bits of each: their hash, whose secret is drawn at each start.
 *
 *     KeySet(limit_bytes): add(key), discard(key), clear(), key in set, len(set), size_bytes
 *
 * That a key is found among ten million others although it is not there has a chance of one in 10^12.
 * 8 bytes a place, of which between three and six of eight are taken; beyond the limit nothing is added.
 *
 * Open addressing with linear steps, in 256 tables that grow each by itself: a step of growth takes
 * less than a millisecond also where there are millions of keys.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define TABLES 256
#define FIRST_PLACES 64

typedef struct {
    uint64_t *places; /* 0 is free */
    size_t mask, taken;
} Table;

typedef struct {
    PyObject_HEAD
    size_t limit, size, keys;
    Table tables[TABLES];
} KeySet;

static int
hash_of(PyObject *key, uint64_t *hash)
{
    Py_hash_t found;

    if (!PyBytes_CheckExact(key)) {
        PyErr_SetString(PyExc_TypeError, "a key is bytes");
        return -1;
    }
    found = PyObject_Hash(key);
    if (found == -1)
        return -1;
    *hash = found ? (uint64_t)found : 1;
    return 0;
}

/* The table of a hash is its lowest byte, the place in it comes from the others. */
static Table *
table_of(KeySet *set, uint64_t hash)
{
    return &set->tables[hash % TABLES];
}

/* Where a hash stands, or would. Requires: the table has a free place. */
static size_t
place_of(const Table *table, uint64_t hash)
{
    size_t place = (size_t)(hash >> 8) & table->mask;

    while (table->places[place] && table->places[place] != hash)
        place = (place + 1) & table->mask;
    return place;
}

/* Twice as many places; 0 if there is no room for them. */
static int
grow(KeySet *set, Table *table)
{
    size_t old = table->places ? table->mask + 1 : 0, count = old ? old * 2 : FIRST_PLACES;
    Table larger = {NULL, count - 1, table->taken};

    if (set->size + (count - old) * sizeof(uint64_t) > set->limit)
        return 0;
    larger.places = PyMem_Calloc(count, sizeof(uint64_t));
    if (!larger.places)
        return 0;
    for (size_t place = 0; place < old; place++)
        if (table->places[place])
            larger.places[place_of(&larger, table->places[place])] = table->places[place];
    PyMem_Free(table->places);
    *table = larger;
    set->size += (count - old) * sizeof(uint64_t);
    return 1;
}

static PyObject *
add(KeySet *set, PyObject *key)
{
    uint64_t hash;
    Table *table;
    size_t place;

    if (hash_of(key, &hash) < 0)
        return NULL;
    table = table_of(set, hash);
    if (!table->places || table->taken * 4 >= (table->mask + 1) * 3)
        if (!grow(set, table) && (!table->places || table->taken == table->mask))
            Py_RETURN_NONE;
    place = place_of(table, hash);
    if (!table->places[place]) {
        table->places[place] = hash;
        table->taken++;
        set->keys++;
    }
    Py_RETURN_NONE;
}

static PyObject *
discard(KeySet *set, PyObject *key)
{
    uint64_t hash;
    Table *table;
    size_t gap, next;

    if (hash_of(key, &hash) < 0)
        return NULL;
    table = table_of(set, hash);
    if (!table->places)
        Py_RETURN_NONE;
    gap = place_of(table, hash);
    if (!table->places[gap])
        Py_RETURN_NONE;
    /* Whoever stands behind the gap and could not be found past it moves into it. */
    for (next = (gap + 1) & table->mask; table->places[next]; next = (next + 1) & table->mask) {
        size_t wanted = (size_t)(table->places[next] >> 8) & table->mask;
        if (((next - wanted) & table->mask) >= ((next - gap) & table->mask)) {
            table->places[gap] = table->places[next];
            gap = next;
        }
    }
    table->places[gap] = 0;
    table->taken--;
    set->keys--;
    Py_RETURN_NONE;
}

static PyObject *
clear(KeySet *set, PyObject *Py_UNUSED(none))
{
    for (int number = 0; number < TABLES; number++)
        PyMem_Free(set->tables[number].places);
    memset(set->tables, 0, sizeof set->tables);
    set->size = set->keys = 0;
    Py_RETURN_NONE;
}

static int
contains(KeySet *set, PyObject *key)
{
    uint64_t hash;
    Table *table;

    if (hash_of(key, &hash) < 0)
        return -1;
    table = table_of(set, hash);
    return table->places && table->places[place_of(table, hash)] != 0;
}

static Py_ssize_t
length(KeySet *set)
{
    return (Py_ssize_t)set->keys;
}

static PyObject *
size_bytes(KeySet *set, void *Py_UNUSED(nothing))
{
    return PyLong_FromSize_t(set->size);
}

static PyObject *
make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(words))
{
    Py_ssize_t limit;
    KeySet *set;

    if (!PyArg_ParseTuple(args, "n", &limit))
        return NULL;
    set = (KeySet *)type->tp_alloc(type, 0);
    if (set)
        set->limit = limit > 0 ? (size_t)limit : 0;
    return (PyObject *)set;
}

static void
end(KeySet *set)
{
    for (int number = 0; number < TABLES; number++)
        PyMem_Free(set->tables[number].places);
    Py_TYPE(set)->tp_free((PyObject *)set);
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)add, METH_O, NULL},
    {"discard", (PyCFunction)discard, METH_O, NULL},
    {"clear", (PyCFunction)clear, METH_NOARGS, NULL},
    {NULL},
};
static PyGetSetDef attributes[] = {
    {"size_bytes", (getter)size_bytes, NULL, NULL, NULL},
    {NULL},
};
static PySequenceMethods as_sequence = {
    .sq_length = (lenfunc)length,
    .sq_contains = (objobjproc)contains,
};
static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stratakv.encodings.keyspace._key_set.KeySet",
    .tp_basicsize = sizeof(KeySet),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = make,
    .tp_dealloc = (destructor)end,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_as_sequence = &as_sequence,
};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_key_set", .m_size = -1};

PyMODINIT_FUNC
PyInit__key_set(void)
{
    PyObject *made;

    if (PyType_Ready(&type) < 0)
        return NULL;
    made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "KeySet", (PyObject *)&type) < 0)
        Py_CLEAR(made);
    return made;
}
