/* The clock that everything which waits or measures wall time on the host reads. */
#ifndef PG_NOW_H
#define PG_NOW_H

/* Seconds of a clock that never goes back; where it starts means nothing. */
double pg_now(void);

#endif
