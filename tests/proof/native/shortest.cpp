// The shortest decimals that are nearer to a number than to any other, by the standard library of C++ (Ryu).
#include <charconv>

extern "C" int shortest_float(char *out, float value) { return (int) (std::to_chars(out, out + 64, value).ptr - out); }
extern "C" int shortest_double(char *out, double value) { return (int) (std::to_chars(out, out + 64, value).ptr - out); }
