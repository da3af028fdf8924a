/* Sums of many multiples of ristretto255 points (RFC 9496), for PUBLIC data only: the time depends on everything.

   Numbers modulo p = 2^255 - 19 are five limbs of 51 bits. A product gives limbs below 2^51 + 2^14 ("tight"). It takes
   limbs below A and B with A B < 2^108.7: a limb of it is at most 77 A B before the carry, and that over 2^51 must fit
   64 bits. So not both factors may be near 2^54.5. A sum of two tight numbers stays below 2^52.1, a difference below
   2^53.4, a difference that such a one goes into below 2^54.2; the largest factors that meet are one of 2^54.2 and one of
   2^53.4 (f and g of a point doubled), so sums and differences go into products without a carry. Points are in extended coordinates (X : Y : Z : T) on
   -x^2 + y^2 = 1 + d x^2 y^2, where one formula adds any two points. Sums over generators alone use tables of their odd
   multiples (Straus, non-adjacent forms); other sums use buckets (Pippenger, signed digits). */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;
typedef struct { uint64_t v[5]; } number;
typedef struct { number x, y, z, t; } point;
typedef struct { number sum, difference, product; } affine; /* y + x, y - x, 2dxy of a point with z = 1 */

#define LOW 0x7ffffffffffffULL

static const number ZERO = {{0, 0, 0, 0, 0}};
static const number ONE = {{1, 0, 0, 0, 0}};
static const number D = {
    {0x34dca135978a3U, 0x1a8283b156ebdU, 0x5e7a26001c029U, 0x739c663a03cbbU, 0x52036cee2b6ffU}};
static const number TWICE_D = {
    {0x69b9426b2f159U, 0x35050762add7aU, 0x3cf44c0038052U, 0x6738cc7407977U, 0x2406d9dc56dffU}};
static const number ROOT_OF_MINUS_ONE = {
    {0x61b274a0ea0b0U, 0xd5a5fc8f189dU, 0x7ef5e9cbd0c60U, 0x78595a6804c9eU, 0x2b8324804fc1dU}};
static const number INVERSE_ROOT_OF_MINUS_ONE_LESS_D = {
    {0xfdaa805d40eaU, 0x2eb482e57d339U, 0x7610274bc58U, 0x6510b613dc8ffU, 0x786c8905cfaffU}};

/* ---------------------------------------------------------------- numbers modulo 2^255 - 19 */

static inline number add(const number *a, const number *b) {
    number r;
    for (int i = 0; i < 5; i++) r.v[i] = a->v[i] + b->v[i];
    return r;
}

/* a - b + 4p, for b with limbs below 2^53 - 76. */
static inline number sub(const number *a, const number *b) {
    number r;
    r.v[0] = a->v[0] + 0x1fffffffffffb4ULL - b->v[0];
    for (int i = 1; i < 5; i++) r.v[i] = a->v[i] + 0x1ffffffffffffcULL - b->v[i];
    return r;
}

static inline number carried(wide t0, wide t1, wide t2, wide t3, wide t4) {
    number r;
    t1 += (uint64_t)(t0 >> 51);
    t2 += (uint64_t)(t1 >> 51);
    t3 += (uint64_t)(t2 >> 51);
    t4 += (uint64_t)(t3 >> 51);
    wide last = (wide)(uint64_t)(t4 >> 51) * 19 + ((uint64_t)t0 & LOW);
    r.v[0] = (uint64_t)last & LOW;
    r.v[1] = ((uint64_t)t1 & LOW) + (uint64_t)(last >> 51);
    r.v[2] = (uint64_t)t2 & LOW;
    r.v[3] = (uint64_t)t3 & LOW;
    r.v[4] = (uint64_t)t4 & LOW;
    return r;
}

static inline number mul(const number *x, const number *y) {
    const uint64_t *a = x->v, *b = y->v;
    uint64_t b1 = 19 * b[1], b2 = 19 * b[2], b3 = 19 * b[3], b4 = 19 * b[4];
    return carried(
        (wide)a[0] * b[0] + (wide)a[1] * b4 + (wide)a[2] * b3 + (wide)a[3] * b2 + (wide)a[4] * b1,
        (wide)a[0] * b[1] + (wide)a[1] * b[0] + (wide)a[2] * b4 + (wide)a[3] * b3 + (wide)a[4] * b2,
        (wide)a[0] * b[2] + (wide)a[1] * b[1] + (wide)a[2] * b[0] + (wide)a[3] * b4 + (wide)a[4] * b3,
        (wide)a[0] * b[3] + (wide)a[1] * b[2] + (wide)a[2] * b[1] + (wide)a[3] * b[0] + (wide)a[4] * b4,
        (wide)a[0] * b[4] + (wide)a[1] * b[3] + (wide)a[2] * b[2] + (wide)a[3] * b[1] + (wide)a[4] * b[0]);
}

static inline number square(const number *x) {
    const uint64_t *a = x->v;
    uint64_t d0 = 2 * a[0], d1 = 2 * a[1], d2 = 2 * a[2], a3 = 19 * a[3], a4 = 19 * a[4];
    return carried(
        (wide)a[0] * a[0] + (wide)d1 * a4 + (wide)d2 * a3,
        (wide)d0 * a[1] + (wide)d2 * a4 + (wide)a[3] * a3,
        (wide)d0 * a[2] + (wide)a[1] * a[1] + (wide)(2 * a[3]) * a4,
        (wide)d0 * a[3] + (wide)d1 * a[2] + (wide)a[4] * a4,
        (wide)d0 * a[4] + (wide)d1 * a[3] + (wide)a[2] * a[2]);
}

static number squares(number a, int times) {
    while (times-- > 0) a = square(&a);
    return a;
}

/* a^((p - 5) / 8) = a^(2^252 - 3). */
static number power(const number *a) {
    number a2 = square(a), t = squares(a2, 2);
    number a9 = mul(&t, a), a11 = mul(&a9, &a2);
    t = square(&a11);
    number e5 = mul(&t, &a9); /* e_n = a^(2^n - 1) */
    t = squares(e5, 5);
    number e10 = mul(&t, &e5);
    t = squares(e10, 10);
    number e20 = mul(&t, &e10);
    t = squares(e20, 20);
    number e40 = mul(&t, &e20);
    t = squares(e40, 10);
    number e50 = mul(&t, &e10);
    t = squares(e50, 50);
    number e100 = mul(&t, &e50);
    t = squares(e100, 100);
    number e200 = mul(&t, &e100);
    t = squares(e200, 50);
    number e250 = mul(&t, &e50);
    t = squares(e250, 2);
    return mul(&t, a);
}

/* The one encoding below p, least significant byte first. */
static void to_bytes(uint8_t out[32], const number *a) {
    number r = mul(a, &ONE);
    uint64_t over = 19; /* is r + 19 at or above 2^255? then r is at or above p */
    for (int i = 0; i < 5; i++) over = (r.v[i] + over) >> 51;
    uint64_t carry = 19 * over;
    for (int i = 0; i < 5; i++) {
        carry += r.v[i];
        r.v[i] = carry & LOW;
        carry >>= 51;
    }
    for (int i = 0; i < 32; i++) {
        int bit = 8 * i, limb = bit / 51, shift = bit % 51;
        uint64_t byte = r.v[limb] >> shift;
        if (shift > 43 && limb < 4) byte |= r.v[limb + 1] << (51 - shift);
        out[i] = (uint8_t)byte;
    }
}

static number from_bytes(const uint8_t in[32]) {
    number r = ZERO;
    for (int i = 0; i < 32; i++) {
        int bit = 8 * i, limb = bit / 51, shift = bit % 51;
        r.v[limb] |= ((uint64_t)in[i] << shift) & LOW;
        if (shift > 43 && limb < 4) r.v[limb + 1] |= (uint64_t)in[i] >> (51 - shift);
    }
    return r;
}

static int same(const number *a, const number *b) {
    uint8_t left[32], right[32];
    to_bytes(left, a);
    to_bytes(right, b);
    return memcmp(left, right, 32) == 0;
}

static int negative(const number *a) {
    uint8_t bytes[32];
    to_bytes(bytes, a);
    return bytes[0] & 1;
}

static number negated(const number *a) {
    number r = sub(&ZERO, a);
    return mul(&r, &ONE);
}

static number absolute(const number *a) { return negative(a) ? negated(a) : *a; }

/* r = 1 / sqrt(v), not negative; returns whether v is a square. (Else r belongs to sqrt(-1) v; 0 for v = 0.) */
static int inverse_root(number *r, const number *v) {
    number v2 = square(v), v3 = mul(&v2, v), v6 = square(&v3), v7 = mul(&v6, v);
    number t = power(&v7), root = mul(&v3, &t);
    t = square(&root);
    number check = mul(&t, v), minus_one = negated(&ONE), minus_i = negated(&ROOT_OF_MINUS_ONE);
    int right = same(&check, &ONE), flipped = same(&check, &minus_one);
    if (flipped || same(&check, &minus_i)) root = mul(&root, &ROOT_OF_MINUS_ONE);
    *r = absolute(&root);
    return right || flipped;
}

/* ---------------------------------------------------------------- points */

static const point NEUTRAL = {{{0, 0, 0, 0, 0}}, {{1, 0, 0, 0, 0}}, {{1, 0, 0, 0, 0}}, {{0, 0, 0, 0, 0}}};

static inline point finished(const number *e, const number *f, const number *g, const number *h) {
    point r = {mul(e, f), mul(g, h), mul(f, g), mul(e, h)};
    return r;
}

/* p + q, or p - q where ``minus``: minus a point swaps y + x with y - x and turns the sign of xy. */
static inline point mixed(const point *p, const affine *q, int minus) {
    number less = sub(&p->y, &p->x), more = add(&p->y, &p->x);
    number a = mul(&less, minus ? &q->sum : &q->difference), b = mul(&more, minus ? &q->difference : &q->sum);
    number c = mul(&p->t, &q->product), d = add(&p->z, &p->z);
    number e = sub(&b, &a), h = add(&b, &a), low = sub(&d, &c), high = add(&d, &c);
    return finished(&e, minus ? &high : &low, minus ? &low : &high, &h);
}

static inline point plus(const point *p, const point *q) {
    number p_less = sub(&p->y, &p->x), p_more = add(&p->y, &p->x);
    number q_less = sub(&q->y, &q->x), q_more = add(&q->y, &q->x);
    number a = mul(&p_less, &q_less), b = mul(&p_more, &q_more), tt = mul(&p->t, &q->t), zz = mul(&p->z, &q->z);
    number c = mul(&tt, &TWICE_D), d = add(&zz, &zz);
    number e = sub(&b, &a), f = sub(&d, &c), g = add(&d, &c), h = add(&b, &a);
    return finished(&e, &f, &g, &h);
}

static inline point doubled(const point *p) {
    number a = square(&p->x), b = square(&p->y), zz = square(&p->z), xy = add(&p->x, &p->y);
    number c = add(&zz, &zz), ab = add(&a, &b), s = square(&xy);
    number e = sub(&s, &ab), g = sub(&b, &a), f = sub(&g, &c), h = sub(&ZERO, &ab);
    return finished(&e, &f, &g, &h);
}

static affine prepared(const number *x, const number *y) {
    number xy = mul(x, y);
    affine r = {add(y, x), sub(y, x), mul(&xy, &TWICE_D)};
    return r;
}

/* RFC 9496, section 4.3.1: the point with z = 1, or 0 for bytes that are not its one encoding. */
static int decode(affine *out, const uint8_t in[32]) {
    uint8_t again[32];
    number s = from_bytes(in);
    to_bytes(again, &s);
    if (memcmp(in, again, 32) != 0 || (in[0] & 1)) return 0;
    number ss = square(&s), u1 = sub(&ONE, &ss), u2 = add(&ONE, &ss);
    number u1_squared = square(&u1), u2_squared = square(&u2);
    number t = mul(&D, &u1_squared), sum = add(&t, &u2_squared), v = sub(&ZERO, &sum), root;
    t = mul(&v, &u2_squared);
    int square_found = inverse_root(&root, &t);
    number den_x = mul(&root, &u2), den_y = mul(&root, &den_x);
    den_y = mul(&den_y, &v);
    t = mul(&s, &den_x);
    t = add(&t, &t);
    number x = absolute(&t), y = mul(&u1, &den_y), xy = mul(&x, &y);
    if (!square_found || negative(&xy) || same(&y, &ZERO)) return 0;
    x = mul(&x, &ONE);
    *out = prepared(&x, &y);
    return 1;
}

/* RFC 9496, section 4.3.2. */
static void encode(uint8_t out[32], const point *p) {
    number more = add(&p->z, &p->y), less = sub(&p->z, &p->y), u1 = mul(&more, &less), u2 = mul(&p->x, &p->y), root;
    number t = square(&u2);
    t = mul(&u1, &t);
    inverse_root(&root, &t);
    number den1 = mul(&root, &u1), den2 = mul(&root, &u2), z_inverse = mul(&den1, &den2);
    z_inverse = mul(&z_inverse, &p->t);
    number x = p->x, y = p->y, den = den2;
    t = mul(&p->t, &z_inverse);
    if (negative(&t)) {
        x = mul(&p->y, &ROOT_OF_MINUS_ONE);
        y = mul(&p->x, &ROOT_OF_MINUS_ONE);
        den = mul(&den1, &INVERSE_ROOT_OF_MINUS_ONE_LESS_D);
    }
    t = mul(&x, &z_inverse);
    if (negative(&t)) y = negated(&y);
    t = sub(&p->z, &y);
    t = mul(&den, &t);
    t = absolute(&t);
    to_bytes(out, &t);
}

/* ---------------------------------------------------------------- sums of generators */

#define NAF 6
#define MULTIPLES 16 /* 1, 3, 5, .. 31 times a point */

/* 1 / z = z^(p - 2), and p - 2 = 8 (2^252 - 3) + 3. */
static number inverse(const number *z) {
    number t = power(z), z2 = square(z), z3 = mul(&z2, z);
    t = squares(t, 3);
    return mul(&t, &z3);
}

/* The odd multiples of a point, with z = 1: all inverses from one. */
static void multiples(affine table[MULTIPLES], const affine *base) {
    point odd[MULTIPLES], twice = mixed(&NEUTRAL, base, 0);
    number before[MULTIPLES], product = ONE;
    odd[0] = twice;
    twice = doubled(&twice);
    for (int i = 0; i < MULTIPLES; i++) {
        if (i) odd[i] = plus(&odd[i - 1], &twice);
        before[i] = product;
        product = mul(&product, &odd[i].z);
    }
    number rest = inverse(&product);
    for (int i = MULTIPLES - 1; i >= 0; i--) {
        number one = mul(&rest, &before[i]), x = mul(&odd[i].x, &one), y = mul(&odd[i].y, &one);
        table[i] = prepared(&x, &y);
        rest = mul(&rest, &odd[i].z);
    }
}

/* Odd digits with at least five zeros between them, written ``step`` apart; for a scalar below 2^253. */
static void non_adjacent(int8_t *digits, size_t step, const uint8_t scalar[32]) {
    int carry = 0;
    for (int i = 0; i < 256;) {
        int window = carry;
        for (int j = 0; j < NAF && i + j < 256; j++) window += ((scalar[(i + j) / 8] >> ((i + j) % 8)) & 1) << j;
        if (window & 1) {
            carry = window >= 1 << (NAF - 1);
            digits[(size_t)i * step] = (int8_t)(window - (carry << NAF));
            i += NAF;
        } else {
            carry &= (scalar[i / 8] >> (i % 8)) & 1;
            i++;
        }
    }
}

static int combine_generators(point *out, const affine *tables, const uint8_t *scalars, size_t n) {
    int8_t *digits = calloc(256, n + 1);
    int32_t *picked = malloc((n + 1) * sizeof(int32_t));
    int ready = digits != NULL && picked != NULL;
    for (size_t i = 0; ready && i < n; i++) non_adjacent(digits + i, n, scalars + 32 * i);
    *out = NEUTRAL;
    for (size_t place = 256; ready && place-- > 0;) {
        const int8_t *row = digits + place * n;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            picked[count] = (int32_t)i;
            count += row[i] != 0;
        }
        *out = doubled(out);
        for (size_t k = 0; k < count; k++) {
            int d = row[picked[k]];
            *out = mixed(out, &tables[picked[k] * MULTIPLES + abs(d) / 2], d < 0);
        }
    }
    free(digits);
    free(picked);
    return ready;
}

/* ---------------------------------------------------------------- sums of any points */

typedef struct { const affine *base; uint64_t k[5]; } term;

/* The scalar plus 2^(c-1) in every window, so that a window less 2^(c-1) is a signed digit. */
static void load(term *out, const affine *base, const uint8_t scalar[32], const uint64_t middle[5]) {
    uint64_t carry = 0;
    out->base = base;
    for (int i = 0; i < 5; i++) {
        uint64_t limb = 0;
        for (int j = 0; i < 4 && j < 8; j++) limb |= (uint64_t)scalar[8 * i + j] << (8 * j);
        wide sum = (wide)limb + middle[i] + carry;
        out->k[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

static inline int digit(const term *t, int window, int c) {
    int bit = window * c, limb = bit / 64, shift = bit % 64;
    uint64_t bits = t->k[limb] >> shift;
    if (shift + c > 64 && limb < 4) bits |= t->k[limb + 1] << (64 - shift);
    return (int)(bits & ((1ULL << c) - 1)) - (1 << (c - 1));
}

/* The width of windows with the fewest products: 254 bits and one for the sign. */
static int width(size_t n) {
    int best = 2;
    double least = 1e300;
    for (int c = 2; c <= 14; c++) {
        double cost = ((254 + c) / c) * (7.0 * (double)n + 17.0 * (double)(1 << (c - 1)));
        if (cost < least) least = cost, best = c;
    }
    return best;
}

static point window_sum(const term *terms, size_t n, int window, int c, point *buckets) {
    point running = NEUTRAL, sum = NEUTRAL;
    int count = 1 << (c - 1);
    for (int i = 0; i < count; i++) buckets[i] = NEUTRAL;
    for (size_t i = 0; i < n; i++) {
        int d = digit(&terms[i], window, c);
        if (d > 0) buckets[d - 1] = mixed(&buckets[d - 1], terms[i].base, 0);
        if (d < 0) buckets[-d - 1] = mixed(&buckets[-d - 1], terms[i].base, 1);
    }
    for (int i = count - 1; i >= 0; i--) {
        running = plus(&running, &buckets[i]);
        sum = plus(&sum, &running);
    }
    return sum;
}

static int combine(point *out, const affine *bases, const uint8_t *scalars, size_t n, const affine *more,
                   const uint8_t *more_scalars, size_t m) {
    static const uint8_t none[32] = {0};
    size_t used = 0;
    int c = width(n + m), windows = (254 + c) / c;
    uint64_t middle[5] = {0};
    for (int w = 0; w < windows; w++) middle[(w * c + c - 1) / 64] |= 1ULL << ((w * c + c - 1) % 64);
    term *terms = malloc((n + m + 1) * sizeof(term));
    point *buckets = malloc(sizeof(point) << (c - 1));
    int ready = terms != NULL && buckets != NULL;
    for (size_t i = 0; ready && i < n + m; i++) {
        const uint8_t *scalar = i < n ? scalars + 32 * i : more_scalars + 32 * (i - n);
        if (memcmp(scalar, none, 32)) load(&terms[used++], i < n ? bases + i : more + (i - n), scalar, middle);
    }
    *out = NEUTRAL;
    for (int w = windows - 1; ready && w >= 0; w--) {
        for (int i = 0; i < c && w < windows - 1; i++) *out = doubled(out);
        point sum = window_sum(terms, used, w, c, buckets);
        *out = plus(out, &sum);
    }
    free(terms);
    free(buckets);
    return ready;
}

/* ---------------------------------------------------------------- what Python calls */

#ifdef _WIN32
#define CALLED __declspec(dllexport)
#else
#define CALLED __attribute__((visibility("default")))
#endif

/* Generators, decoded once; with tables if there are not too many. */
typedef struct { affine *points, *tables; } basis;

#define MOST_TABLES 5000

CALLED void hubbub_basis_free(basis *b) {
    if (b == NULL) return;
    free(b->points);
    free(b->tables);
    free(b);
}

/* NULL if one of the points is none or there is no memory. */
CALLED basis *hubbub_basis(const uint8_t *points, size_t n) {
    int with_tables = n > 0 && n <= MOST_TABLES;
    basis *b = calloc(1, sizeof(basis));
    int ready = b != NULL && (b->points = calloc(n + 1, sizeof(affine))) != NULL &&
                (!with_tables || (b->tables = calloc(n * MULTIPLES, sizeof(affine))) != NULL);
    for (size_t i = 0; ready && i < n; i++) {
        ready = decode(&b->points[i], points + 32 * i);
        if (ready && with_tables) multiples(b->tables + i * MULTIPLES, &b->points[i]);
    }
    if (ready) return b;
    hubbub_basis_free(b);
    return NULL;
}

/* out = sum weights[i] b[i] + sum scalars[i] points[i]; 0, or 1 if a point is none, or 2 without memory.
   Scalars are 32 bytes, below 2^253; b may be NULL for n = 0. */
CALLED int hubbub_combine(uint8_t *out, const basis *b, const uint8_t *weights, size_t n, const uint8_t *points,
                          const uint8_t *scalars, size_t m) {
    point sum;
    affine *more = calloc(m + 1, sizeof(affine));
    int code = more == NULL ? 2 : 0;
    for (size_t i = 0; code == 0 && i < m; i++) code = decode(&more[i], points + 32 * i) ? 0 : 1;
    if (code == 0) {
        int done = m == 0 && n > 0 && b->tables ? combine_generators(&sum, b->tables, weights, n)
                                                : combine(&sum, b ? b->points : NULL, weights, n, more, scalars, m);
        code = done ? 0 : 2;
    }
    free(more);
    if (code == 0) encode(out, &sum);
    return code;
}
