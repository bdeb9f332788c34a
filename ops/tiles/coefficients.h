// The polynomials of the float32 functions, highest power first: for ops/tiles/functions-inl.h and for generated code.
#pragma once

namespace graphrun::coefficients {

// ln 2 in two parts; the product of an integer up to 2^14 and the first part is exact.
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f, kLog2E = 1.44269504088896341f;
// Adding it rounds a float to an integer: 1.5 × 2^23.
inline constexpr float kWhole = 12582912.f;

// exp(r) = 1 + r + r² P(r), |r| ≤ ln 2 / 2 (Cephes, Moshier 1989); outside the limits the result is 0 or infinite.
inline constexpr float kExp[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
inline constexpr float kExpLowest = -104.f, kExpHighest = 89.f;

// log(1 + f) = f - f²/2 + f³ P(f), √½ - 1 ≤ f < √2 - 1 (Cephes).
inline constexpr float kLog[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f, 1.4249322787e-1f,
                                 -1.6668057665e-1f, 2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
inline constexpr float kTwoTo23 = 8388608.f;
inline constexpr int kRootHalfBits = 0x3F3504F3;  // of √½
inline constexpr int kMantissaBits = 0x007FFFFF;

// tanh(x) = x + x³ P(x²), |x| < kTanhNear (Cephes).
inline constexpr float kTanh[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                                  -3.33332819422e-1f};
inline constexpr float kTanhNear = 0.625f;

// erf(x) = x + x P(x²) for |x| ≤ kErfNear; 1 - exp(-x + x P(x)) for larger x, up to kErfFarthest. Minimax polynomials in the
// manner of N. Juffa's erff.
inline constexpr float kErfNearBy[] = {-5.96761703e-4f, 4.99119423e-3f,  -2.67681349e-2f,
                                       1.12819925e-1f,  -3.76125336e-1f, 1.28379166e-1f};
inline constexpr float kErfFarBy[] = {-1.72853470e-5f, 3.83197126e-4f,  -3.88396438e-3f, 2.42546219e-2f,
                                      -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f};
inline constexpr float kErfNear = 0.927734375f, kErfFarthest = 5.f;

}  // namespace graphrun::coefficients
