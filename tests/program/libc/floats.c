// Floating point through printf, strtod and the mathematical library.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const double values[] = {0.0,     -0.0,    1.0,      -1.5,     0.1,     1e100,  5e-324,
                             DBL_MAX, DBL_MIN, 1.0 / 3,  2.5,      1e15,    123456.789, 1e-7};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        printf("%g %.17g %f %.3e %a\n", values[i], values[i], values[i], values[i], values[i]);
    printf("%f %f %f\n", INFINITY, -INFINITY, (double)(float)0.1);
    const char *texts[] = {"3.14159265358979323846", "1e400", "0x1.8p3", "-.5e-3", "nan"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        printf("%.17g\n", fabs(strtod(texts[i], NULL)));
    for (int i = 1; i < 12; i++) {
        double x = i * 0.7 - 3;
        printf("%.15g %.15g %.15g %.15g %.15g\n", sqrt(fabs(x)), exp(x), sin(x), pow(fabs(x), 1.7),
               log(fabs(x)));
        printf("%.9g %.9g %.9g\n", (double)expf((float)x), (double)tanhf((float)x),
               (double)cbrtf((float)x));
    }
    double sum = 0;
    for (int i = 1; i <= 1000; i++)
        sum += 1.0 / i / i;
    printf("%.17g %ld %ld\n", sum, lrint(2.5), (long)-2.7);
    return 0;
}
