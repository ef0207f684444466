/* Requests out of bytes: what requests.py does with hiredis, for requests of the plain form alone.
 *
 *     split(data) -> (requests, used)
 *
 * `requests` are the lists of arguments that stand whole at the beginning of `data`, and `used` the
 * bytes that they take. Inline commands are plain if they are words with one space between them. It
 * stops before whatever is not plain: quotes, a count of none, a number with a sign or a leading
 * zero, a request that is cut by the end of the data, a mistake.
 * The strict parser reads on from there, so this file knows no limits and no errors of its own.
 *
 * The words of a pipeline are much the same from request to request. One that equals that of the
 * request before, at the same place, is the same object: its hash is known already.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define SHARED_WORDS 2
#define MOST_ARGUMENTS 1048576
#define MOST_DIGITS 9
#define LONGEST_LINE 1024

/* The number of a header such as "*3\r\n" or "$5\r\n" at `at`, which moves behind it; -1 if there is
 * no such header, or not all of it. */
static Py_ssize_t
read_header(const char **at, const char *end, char kind)
{
    const char *p = *at;
    Py_ssize_t number = 0;
    int digits = 0;

    if (end - p < 4 || *p++ != kind)
        return -1;
    while (p < end && *p >= '0' && *p <= '9' && digits < MOST_DIGITS) {
        number = number * 10 + (*p++ - '0');
        digits++;
    }
    if (digits == 0 || end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return -1;
    if (digits > 1 && (*at)[1] == '0')
        return -1;
    *at = p + 2;
    return number;
}

/* A word as an object: that of the request before, if it is the same. */
static PyObject *
make_word(PyObject *before, Py_ssize_t place, const char *text, Py_ssize_t size)
{
    if (before != NULL && place < SHARED_WORDS && place < PyList_GET_SIZE(before)) {
        PyObject *word = PyList_GET_ITEM(before, place);
        if (PyBytes_GET_SIZE(word) == size && memcmp(PyBytes_AS_STRING(word), text, size) == 0)
            return Py_NewRef(word);
    }
    return PyBytes_FromStringAndSize(text, size);
}

/* The request at `at`, which moves behind it; NULL without an exception if none stands there. */
static PyObject *
read_request(const char **at, const char *end, PyObject *before)
{
    const char *p = *at;
    Py_ssize_t count = read_header(&p, end, '*');
    PyObject *request;

    /* an argument takes 6 bytes: whatever is announced, no more room is made than for what is there */
    if (count <= 0 || count > MOST_ARGUMENTS || count > (end - p) / 6)
        return NULL;
    request = PyList_New(count);
    if (request == NULL)
        return NULL;
    for (Py_ssize_t place = 0; place < count; place++) {
        Py_ssize_t size = read_header(&p, end, '$');
        PyObject *word;
        if (size < 0 || end - p < size + 2 || p[size] != '\r' || p[size + 1] != '\n')
            goto none;
        word = make_word(before, place, p, size);
        if (word == NULL)
            goto none;
        PyList_SET_ITEM(request, place, word);
        p += size + 2;
    }
    *at = p;
    return request;
none:
    Py_DECREF(request);
    return NULL;
}

/* As read_request, for an inline command. */
static PyObject *
read_line(const char **at, const char *end, PyObject *before)
{
    const char *p = *at;
    Py_ssize_t most = end - p < LONGEST_LINE ? end - p : LONGEST_LINE;
    const char *newline = memchr(p, '\n', most), *stop;
    PyObject *request;

    if (newline == NULL)
        return NULL;
    stop = newline > p && newline[-1] == '\r' ? newline - 1 : newline;
    if (p == stop)
        return NULL;
    request = PyList_New(0);
    if (request == NULL)
        return NULL;
    for (;;) {
        const char *start = p;
        PyObject *word;
        int failed;
        while (p < stop && *p > ' ' && *p < 127 && *p != '"' && *p != '\'')
            p++;
        if (p == start || (p < stop && *p != ' '))
            goto none;
        word = make_word(before, PyList_GET_SIZE(request), start, p - start);
        if (word == NULL)
            goto none;
        failed = PyList_Append(request, word);
        Py_DECREF(word);
        if (failed)
            goto none;
        if (p == stop)
            break;
        p++;
    }
    *at = newline + 1;
    return request;
none:
    Py_DECREF(request);
    return NULL;
}

static PyObject *
split(PyObject *module, PyObject *data)
{
    PyObject *requests, *before = NULL;
    const char *start, *at, *end;

    if (!PyBytes_CheckExact(data)) {
        PyErr_SetString(PyExc_TypeError, "split() takes bytes");
        return NULL;
    }
    start = at = PyBytes_AS_STRING(data);
    end = start + PyBytes_GET_SIZE(data);
    requests = PyList_New(0);
    if (requests == NULL)
        return NULL;
    while (at < end) {
        PyObject *request =
            *at == '*' ? read_request(&at, end, before) : read_line(&at, end, before);
        int failed;
        if (request == NULL)
            break;
        failed = PyList_Append(requests, request);
        Py_DECREF(request);
        if (failed)
            break;
        before = request; /* alive: the list has it */
    }
    if (PyErr_Occurred()) {
        Py_DECREF(requests);
        return NULL;
    }
    return Py_BuildValue("(Nn)", requests, (Py_ssize_t)(at - start));
}

static PyMethodDef methods[] = {
    {"split", split, METH_O, "The plain requests at the beginning of the data, and their bytes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_split", "Requests out of bytes.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__split(void)
{
    return PyModule_Create(&definition);
}
