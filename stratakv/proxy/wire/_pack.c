/* Arrays of bulk strings as bytes: commands for packing.py, which does it word by word, and replies
 * for encoding.py, which does it item by item. Both go on with what is not of the plain form.
 *
 *     pack(commands, start, large) -> (packed, next)
 *
 * `packed` are the bytes of the commands from `start` on, in one piece, and `next` is the place of
 * the first that is not among them: it has an argument of more than `large` bytes, which is not to
 * be copied, or it is no list or tuple of bytes.
 *
 *     array(items, also) -> packed or None
 *
 * The bytes of one reply. None if it is no list or tuple, or if an item is of another class than
 * bytes and `also`, a subclass of it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

static Py_ssize_t
header_size(Py_ssize_t number)
{
    Py_ssize_t size = 4; /* the kind, one digit, CR and LF */

    while (number >= 10) {
        number /= 10;
        size++;
    }
    return size;
}

static char *
put_header(char *at, char kind, Py_ssize_t number)
{
    char *end = at + header_size(number), *p = end - 2;

    *at = kind;
    p[0] = '\r';
    p[1] = '\n';
    do {
        *--p = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

/* The bytes that a list or tuple takes as an array; -1 if it is not plain: an item is neither bytes
 * nor of the class `also`, or has more than `large` bytes. */
static Py_ssize_t
packed_size(PyObject *words, PyTypeObject *also, Py_ssize_t large)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(words), size = header_size(count);

    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *word = PySequence_Fast_GET_ITEM(words, place);
        Py_ssize_t length;
        if (!PyBytes_CheckExact(word) && Py_TYPE(word) != also)
            return -1;
        length = PyBytes_GET_SIZE(word);
        if (length > large)
            return -1;
        size += header_size(length) + length + 2;
    }
    return size;
}

static char *
put_array(char *at, PyObject *words)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(words);

    at = put_header(at, '*', count);
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *word = PySequence_Fast_GET_ITEM(words, place);
        Py_ssize_t length = PyBytes_GET_SIZE(word);
        at = put_header(at, '$', length);
        memcpy(at, PyBytes_AS_STRING(word), length);
        at += length;
        *at++ = '\r';
        *at++ = '\n';
    }
    return at;
}

static PyObject *
pack(PyObject *module, PyObject *args)
{
    PyObject *commands, *packed;
    Py_ssize_t start, large, next, size = 0;
    char *at;

    if (!PyArg_ParseTuple(args, "O!nn", &PyList_Type, &commands, &start, &large))
        return NULL;
    if (start < 0) {
        PyErr_SetString(PyExc_ValueError, "pack() begins at a place of the list");
        return NULL;
    }
    for (next = start; next < PyList_GET_SIZE(commands); next++) {
        PyObject *command = PyList_GET_ITEM(commands, next);
        Py_ssize_t one;
        if (!PyList_CheckExact(command) && !PyTuple_CheckExact(command))
            break;
        one = packed_size(command, &PyBytes_Type, large);
        if (one < 0)
            break;
        size += one;
    }
    packed = PyBytes_FromStringAndSize(NULL, size);
    if (packed == NULL)
        return NULL;
    at = PyBytes_AS_STRING(packed);
    for (Py_ssize_t place = start; place < next; place++)
        at = put_array(at, PyList_GET_ITEM(commands, place));
    return Py_BuildValue("(Nn)", packed, next);
}

static PyObject *
array(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyTypeObject *also;
    PyObject *packed;
    Py_ssize_t size;

    if (count != 2 || !PyType_Check(args[1])
        || !PyType_IsSubtype(also = (PyTypeObject *)args[1], &PyBytes_Type)) {
        PyErr_SetString(PyExc_TypeError, "array() takes items and a class of bytes");
        return NULL;
    }
    if (!PyList_Check(args[0]) && !PyTuple_Check(args[0]))
        Py_RETURN_NONE;
    size = packed_size(args[0], also, PY_SSIZE_T_MAX);
    if (size < 0)
        Py_RETURN_NONE;
    packed = PyBytes_FromStringAndSize(NULL, size);
    if (packed != NULL)
        put_array(PyBytes_AS_STRING(packed), args[0]);
    return packed;
}

static PyMethodDef methods[] = {
    {"pack", pack, METH_VARARGS, "The bytes of plain commands, and the place of the next one."},
    {"array", (PyCFunction)(void (*)(void))array, METH_FASTCALL, "The bytes of a plain reply."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_pack", "Arrays of bulk strings as bytes.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__pack(void)
{
    return PyModule_Create(&definition);
}
