//go:build !purego

#include "textflag.h"

// FOLD replaces each lane of a by hash.Fold of the lane and a number, which is in every lane of low and, shifted right
// by 32, of high. Z31 is the mask of the lower halves.
#define FOLD(a, low, high) \
	VPSRLQ      $32, a, Z8         \
	VPMULUDQ    a, low, Z9         \
	VPMULUDQ    Z8, low, Z10       \
	VPMULUDQ    a, high, Z11       \
	VPMULUDQ    Z8, high, Z8       \
	VPSRLQ      $32, Z9, Z12       \
	VPADDQ      Z12, Z10, Z10      \
	VPSRLQ      $32, Z10, Z12      \
	VPADDQ      Z12, Z8, Z8        \
	VPANDQ      Z31, Z10, Z10      \
	VPADDQ      Z10, Z11, Z11      \
	VPSRLQ      $32, Z11, Z12      \
	VPADDQ      Z12, Z8, Z8        \
	VPSLLQ      $32, Z11, Z11      \
	VPTERNLOGQ  $0xEA, Z11, Z31, Z9 \ // Z9 & Z31 | Z11
	VPXORQ      Z8, Z9, a

// func windowsAVX512(dst, tokens []uint64, k int)
TEXT ·windowsAVX512(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R9
	MOVQ tokens_base+24(FP), SI
	MOVQ k+48(FP), R8

	MOVQ         $0x9e3779b97f4a7c15, AX // multiplier
	VPBROADCASTQ AX, Z16
	MOVQ         $0xa4093822299f31d0, AX // hash.maskIn
	VPBROADCASTQ AX, Z17
	MOVQ         $0x3f84d5b5b5470917, AX // hash.mulIn
	VPBROADCASTQ AX, Z18
	VPSRLQ       $32, Z18, Z19
	MOVQ         $0xbe5466cf34e90c6c, AX // hash.maskOut
	VPBROADCASTQ AX, Z20
	MOVQ         $0xc0ac29b7c97c50dd, AX // hash.mulOut
	VPBROADCASTQ AX, Z21
	VPSRLQ       $32, Z21, Z22
	VPTERNLOGQ   $0xFF, Z31, Z31, Z31
	VPSRLQ       $32, Z31, Z31

	MOVL  $0xFF, AX
	KMOVW AX, K1

eight:
	CMPQ  R9, $8
	JGE   sum
	TESTQ R9, R9
	JZ    done
	MOVL  $-1, AX
	BZHIL R9, AX, AX
	KMOVW AX, K1   // the last group is partial

sum:
	VMOVDQU64.Z (SI), K1, Z0
	LEAQ        -1(R8), CX
	LEAQ        8(SI), DX
	TESTQ       CX, CX
	JZ          mix

token:
	VPMULLQ     Z16, Z0, Z0
	VMOVDQU64.Z (DX), K1, Z1
	VPADDQ      Z1, Z0, Z0
	ADDQ        $8, DX
	DECQ        CX
	JNZ         token

mix:
	VPXORQ    Z17, Z0, Z0
	FOLD(Z0, Z18, Z19)
	VPXORQ    Z20, Z0, Z0
	FOLD(Z0, Z21, Z22)
	VMOVDQU64 Z0, K1, (DI)
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $8, R9
	JG        eight

done:
	VZEROUPPER
	RET
