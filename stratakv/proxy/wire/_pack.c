/* Commands as bytes: what packing.py does word by word, for commands of the plain form alone.
 *
 *     pack(commands, start, large) -> (packed, next)
 *
 * `packed` are the bytes of the commands from `start` on, in one piece, and `next` is the place of
 * the first that is not among them: it has an argument of more than `large` bytes, which is not to
 * be copied, or it is no list or tuple of bytes. packing.py goes on from there.
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

/* The bytes that a command takes; -1 if it is not plain. */
static Py_ssize_t
packed_size(PyObject *command, Py_ssize_t large)
{
    Py_ssize_t count, size;

    if (!PyList_CheckExact(command) && !PyTuple_CheckExact(command))
        return -1;
    count = PySequence_Fast_GET_SIZE(command);
    size = header_size(count);
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *word = PySequence_Fast_GET_ITEM(command, place);
        Py_ssize_t length;
        if (!PyBytes_Check(word))
            return -1;
        length = PyBytes_GET_SIZE(word);
        if (length > large)
            return -1;
        size += header_size(length) + length + 2;
    }
    return size;
}

static char *
put_command(char *at, PyObject *command)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(command);

    at = put_header(at, '*', count);
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *word = PySequence_Fast_GET_ITEM(command, place);
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
        Py_ssize_t one = packed_size(PyList_GET_ITEM(commands, next), large);
        if (one < 0)
            break;
        size += one;
    }
    packed = PyBytes_FromStringAndSize(NULL, size);
    if (packed == NULL)
        return NULL;
    at = PyBytes_AS_STRING(packed);
    for (Py_ssize_t place = start; place < next; place++)
        at = put_command(at, PyList_GET_ITEM(commands, place));
    return Py_BuildValue("(Nn)", packed, next);
}

static PyMethodDef methods[] = {
    {"pack", pack, METH_VARARGS, "The bytes of plain commands, and the place of the next one."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_pack", "Commands as bytes.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__pack(void)
{
    return PyModule_Create(&definition);
}
