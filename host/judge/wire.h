/* Messages between the judge and a worker: u32 length in host order, then that many bytes of JSON,
 * over a stream socket; a descriptor may travel with a message. Owns nothing but the text it
 * returns. */
#ifndef PG_WIRE_H
#define PG_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "../error.h"
#include "../now.h" /* deadlines are points of this clock; INFINITY for none */

enum { PG_WIRE_MAX = 64 << 20 }; /* longest message, bytes */

/* Whether something (a message, the other side's end) is there to be received, now or until then.
 */
bool pg_wire_readable(int socket, double until);

/* Send `text`, with descriptor `pass` unless that is -1.
 * PG_RANGE: too long, nothing was sent; PG_TIMEOUT: the deadline passed; PG_IO: the other side is
 * gone. */
pg_code pg_wire_send(int socket, const char *text, size_t bytes, int pass, double deadline,
                     pg_error *error);

/* Receive one message (zero-terminated, the caller frees it). *passed is the descriptor that came
 * with it or -1, and then the caller's; a NULL `passed` closes it. PG_RANGE: longer than
 * PG_WIRE_MAX; it was read and dropped, so that the next message can be received. PG_IO: the other
 * side is gone ("end of file" between two messages). PG_TIMEOUT, PG_MEMORY. */
pg_code pg_wire_receive(int socket, char **text, size_t *bytes, int *passed, double deadline,
                        pg_error *error);

#endif
