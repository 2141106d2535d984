//go:build !purego

#include "textflag.h"

DATA signs<>+0(SB)/8, $0x8000000080000000
DATA signs<>+8(SB)/8, $0x8000000080000000
DATA signs<>+16(SB)/8, $0x8000000080000000
DATA signs<>+24(SB)/8, $0x8000000080000000
GLOBL signs<>(SB), RODATA|NOPTR, $32

DATA tail<>+0(SB)/2, $128 // tailLength
GLOBL tail<>(SB), RODATA|NOPTR, $2

// FOLD stores hash.Fold(AX^mask, multiplier).
#define FOLD(mask, at) \
	MOVQ  mask, R15     \
	XORQ  AX, R15       \
	MULXQ R15, R15, R12 \
	XORQ  R15, R12      \
	MOVQ  R12, at(R14)

// HASHES stores the hashes of the feature in AX at R14.
#define HASHES \
	FOLD(R8, 0)  \
	FOLD(R9, 8)  \
	FOLD(R10, 16) \
	FOLD(R11, 24)

// func estimateAVX2(e *estimate, features []uint64, masks *[4]uint64, c *curve)
//
// Hashes are computed eight features ahead of the sums, in a ring of 16 at R13, so that no load waits for the stores
// before it. The sums for e.tails follow the ring.
TEXT ·estimateAVX2(SB), 0, $1096-48
	MOVQ features_base+8(FP), DI
	MOVQ features_len+16(FP), CX
	MOVQ masks+32(FP), AX
	MOVQ c+40(FP), SI
	MOVQ 0(AX), R8
	MOVQ 8(AX), R9
	MOVQ 16(AX), R10
	MOVQ 24(AX), R11
	MOVQ $0x9e3779b97f4a7c15, DX // multiplier
	LEAQ 511(SP), R13
	ANDQ $-512, R13
	DECQ CX                      // the last feature

	VMOVUPS      0(SI), Y11
	VMOVUPS      32(SI), Y10
	VMOVUPS      64(SI), Y9
	VMOVUPS      96(SI), Y8
	VPBROADCASTW tail<>(SB), Y12
	VPXOR        Y13, Y13, Y13
	VXORPS       Y14, Y14, Y14   // sums of even words
	VXORPS       Y15, Y15, Y15   // and of odd ones
	VMOVDQU      Y13, 512(R13)
	VMOVDQU      Y13, 544(R13)

	XORL BX, BX
	MOVQ R13, R14

ahead:
	MOVQ    BX, R12
	CMPQ    R12, CX
	CMOVQGT CX, R12
	MOVQ    (DI)(R12*8), AX
	HASHES
	ADDQ    $32, R14
	INCQ    BX
	CMPQ    BX, $8
	JLT     ahead
	XORL    BX, BX

feature:
	LEAQ    8(BX), R12
	CMPQ    R12, CX
	CMOVQGT CX, R12
	MOVQ    (DI)(R12*8), AX
	MOVQ    BX, R14
	SHLQ    $5, R14
	ANDQ    $480, R14
	ADDQ    R13, R14
	XORQ    $256, R14
	HASHES
	XORQ    $256, R14

	VMOVDQU   (R14), Y0
	VPSRAW    $15, Y0, Y1
	VPXOR     Y0, Y1, Y1              // places from the nearer end
	VPCMPGTW  Y1, Y12, Y2
	VPMOVMSKB Y2, AX
	VPMAXSW   Y1, Y12, Y1
	VPBLENDW  $0xaa, Y13, Y1, Y3
	VPSRLD    $16, Y1, Y4
	VCVTDQ2PS Y3, Y3
	VCVTDQ2PS Y4, Y4
	VPSRLD    $23, Y3, Y5             // octaves; three bits are used
	VPSRLD    $23, Y4, Y6
	VPERMPS     Y8, Y5, Y1
	VPERMPS     Y8, Y6, Y2
	VPERMPS     Y9, Y5, Y7
	VFMADD213PS Y7, Y3, Y1
	VPERMPS     Y9, Y6, Y7
	VFMADD213PS Y7, Y4, Y2
	VPERMPS     Y10, Y5, Y7
	VFMADD213PS Y7, Y3, Y1
	VPERMPS     Y10, Y6, Y7
	VFMADD213PS Y7, Y4, Y2
	VPERMPS     Y11, Y5, Y7
	VFMADD213PS Y7, Y3, Y1
	VPERMPS     Y11, Y6, Y7
	VFMADD213PS Y7, Y4, Y2
	VPSLLD      $16, Y0, Y3
	VPAND       signs<>(SB), Y3, Y3
	VPAND       signs<>(SB), Y0, Y4
	VPXOR       Y3, Y1, Y1
	VPXOR       Y4, Y2, Y2
	VSUBPS      Y1, Y14, Y14          // places in the upper half are positive
	VSUBPS      Y2, Y15, Y15

	TESTL AX, AX
	JNZ   tails

next:
	INCQ BX
	CMPQ BX, CX
	JLE  feature

	MOVQ    e+0(FP), DI
	VMOVUPS Y14, 0(DI)
	VMOVUPS Y15, 32(DI)
	VMOVDQU 512(R13), Y0
	VMOVDQU 544(R13), Y1
	VMOVDQU Y0, 64(DI)
	VMOVDQU Y1, 96(DI)
	VZEROUPPER
	RET

tails:
	ANDL $0x55555555, AX

one:
	TZCNTL  AX, R12
	MOVWLZX (R14)(R12*1), R15
	ADDL    $128, R15
	MOVWLZX R15, R15
	MOVL    128(SI)(R15*4), R15
	ADDL    R15, 512(R13)(R12*2)
	BLSRL   AX, AX
	JNZ     one
	JMP     next

// FOLD512 replaces a value with hash.Fold(value, multiplier).
#define FOLD512(at) \
	MULXQ at(R11), R15, R12 \
	XORQ  R15, R12          \
	MOVQ  R12, at(R11)

// HASHES512 replaces the masked feature at R11 with its hashes.
#define HASHES512 \
	FOLD512(0)  \
	FOLD512(8)  \
	FOLD512(16) \
	FOLD512(24) \
	FOLD512(32) \
	FOLD512(40) \
	FOLD512(48) \
	FOLD512(56)

// func estimateAVX512(e *estimate512, features []uint64, masks *[8]uint64, c *curve)
//
// Like estimateAVX2, but five bits, the last of them of the mantissa, tell halves of all octaves apart, so there are no
// tails. Features are masked 16 ahead of the sums, in a ring of 32 at R13, and replaced with their hashes eight later.
TEXT ·estimateAVX512(SB), 0, $4096-48
	MOVQ features_base+8(FP), DI
	MOVQ features_len+16(FP), CX
	MOVQ masks+32(FP), R8
	MOVQ c+40(FP), SI
	MOVQ $0x9e3779b97f4a7c15, DX // multiplier
	LEAQ 2047(SP), R13
	ANDQ $-2048, R13
	DECQ CX                      // the last feature

	VMOVUPS      1152(SI), Z16
	VMOVUPS      1216(SI), Z17
	VMOVUPS      1280(SI), Z18
	VMOVUPS      1344(SI), Z19
	VMOVUPS      1408(SI), Z20
	VMOVUPS      1472(SI), Z21
	VMOVDQU64    (R8), Z10
	VPBROADCASTD signs<>(SB), Z12
	MOVL         $0xffff, AX
	VPBROADCASTD AX, Z13
	VPXORQ       Z14, Z14, Z14   // sums of even words
	VPXORQ       Z15, Z15, Z15   // and of odd ones

	XORL BX, BX
	MOVQ R13, R11

masked:
	MOVQ        BX, R12
	CMPQ        R12, CX
	CMOVQGT     CX, R12
	VPXORQ.BCST (DI)(R12*8), Z10, Z0
	VMOVDQU64   Z0, (R11)
	ADDQ        $64, R11
	INCQ        BX
	CMPQ        BX, $16
	JLT         masked
	XORL        BX, BX
	MOVQ        R13, R11

hashed:
	HASHES512
	ADDQ $64, R11
	INCQ BX
	CMPQ BX, $8
	JLT  hashed
	XORL BX, BX
	XORL R14, R14

feature:
	LEAQ        16(BX), R12
	CMPQ        R12, CX
	CMOVQGT     CX, R12
	LEAQ        1024(R14), R11
	ANDQ        $1984, R11
	VPXORQ.BCST (DI)(R12*8), Z10, Z0
	VMOVDQU64   Z0, (R13)(R11*1)
	LEAQ        512(R14), R11
	ANDQ        $1984, R11
	ADDQ        R13, R11
	HASHES512

	VMOVDQU64   (R13)(R14*1), Z0
	ADDQ        $64, R14
	ANDQ        $1984, R14
	VPSRAW      $15, Z0, Z1
	VPXORQ      Z0, Z1, Z1     // places from the nearer end
	VPANDD      Z13, Z1, Z3
	VPSRLD      $16, Z1, Z4
	VCVTDQ2PS   Z3, Z3
	VCVTDQ2PS   Z4, Z4
	VPSRLD      $22, Z3, Z1    // halves of octaves; five bits are used
	VPSRLD      $22, Z4, Z2
	VMOVDQA64   Z1, Z5
	VMOVDQA64   Z2, Z6
	VMOVDQA64   Z1, Z7
	VMOVDQA64   Z2, Z8
	VPERMI2PS   Z21, Z20, Z1
	VPERMI2PS   Z21, Z20, Z2
	VPERMI2PS   Z19, Z18, Z5
	VPERMI2PS   Z19, Z18, Z6
	VPERMI2PS   Z17, Z16, Z7
	VPERMI2PS   Z17, Z16, Z8
	VFMADD213PS Z5, Z3, Z1
	VFMADD213PS Z6, Z4, Z2
	VFMADD213PS Z7, Z3, Z1
	VFMADD213PS Z8, Z4, Z2
	VPSLLD      $16, Z0, Z3
	VPTERNLOGD  $0x78, Z3, Z12, Z1 // apply the sign of the word
	VPTERNLOGD  $0x78, Z0, Z12, Z2
	VSUBPS      Z1, Z14, Z14       // places in the upper half are positive
	VSUBPS      Z2, Z15, Z15

	INCQ BX
	CMPQ BX, CX
	JLE  feature

	MOVQ    e+0(FP), DI
	VMOVUPS Z14, 0(DI)
	VMOVUPS Z15, 64(DI)
	VZEROUPPER
	RET
