//go:build !purego

#include "textflag.h"

// func throwAVX512(sig, shingles []uint64, mask, prefix uint64) (filled uint64)
TEXT ·throwAVX512(SB), 0, $1216-72
	MOVQ         sig_base+0(FP), DI
	MOVQ         sig_len+8(FP), R8
	MOVQ         shingles_base+24(FP), SI
	MOVQ         shingles_len+32(FP), R9
	LEAQ         room-1088(SP), R11      // buffer for 128 throws and 8 more
	MOVQ         prefix+56(FP), R10
	VPBROADCASTQ mask+48(FP), Z4
	MOVQ         $0x9e3779b97f4a7c15, AX // multiplier
	VPBROADCASTQ AX, Z5                  // VPMULUDQ uses its lower half
	VPSRLQ       $32, Z5, Z6
	VPTERNLOGQ   $0xFF, Z7, Z7, Z7
	VPSRLQ       $63, Z7, Z17            // 1
	VPSRLQ       $58, Z7, Z16            // 63
	VPSRLQ       $32, Z7, Z7             // mask of the lower halves
	DECQ         R8
	VPBROADCASTQ R8, Z18                 // index of the last bin

	// Compute one bit per bin: was it empty before the round? Bins filled in this round were.
	VPBROADCASTQ R10, Z0
	XORL         CX, CX

bins:
	VPCMPUQ  $2, (DI)(CX*8), Z0, K2 // prefix <= bin
	MOVQ     CX, DX
	SHRQ     $3, DX
	KMOVB    K2, AX
	MOVB     AX, open-1216(SP)(DX*1)
	ADDQ     $8, CX
	CMPQ     CX, R8
	JCS      bins
	VMOVDQU64 open-1216(SP), Z19
	VMOVDQU64 open-1152(SP), Z20

	MOVL  $0xFF, AX
	KMOVB AX, K1
	MOVQ  R11, DX // end of the throws in the buffer

eight:
	CMPQ  R9, $8
	JGE   fold
	TESTQ R9, R9
	JZ    thrown
	MOVL  $-1, AX
	BZHIL R9, AX, AX
	KMOVB AX, K1 // the last group is partial

fold:
	VMOVDQU64.Z   (SI), K1, Z0
	VPXORQ        Z4, Z0, Z0
	VPSRLQ        $32, Z0, Z1
	VPMULUDQ      Z0, Z5, Z8
	VPMULUDQ      Z1, Z5, Z9
	VPMULUDQ      Z0, Z6, Z10
	VPMULUDQ      Z1, Z6, Z11
	VPSRLQ        $32, Z8, Z12
	VPADDQ        Z12, Z9, Z9
	VPSRLQ        $32, Z9, Z12
	VPADDQ        Z12, Z11, Z11
	VPANDQ        Z7, Z9, Z9
	VPADDQ        Z9, Z10, Z10
	VPSRLQ        $32, Z10, Z12
	VPADDQ        Z12, Z11, Z11
	VPSLLQ        $32, Z10, Z10
	VPTERNLOGQ    $0xEA, Z10, Z7, Z8  // Z8 & Z7 | Z10
	VPXORQ        Z8, Z11, Z0         // the throws
	VPANDQ        Z18, Z0, Z1
	VPSRLQ        $6, Z1, Z2
	VPERMI2Q      Z20, Z19, Z2
	VPANDQ        Z16, Z1, Z1
	VPSRLVQ       Z1, Z2, Z2
	VPTESTMQ      Z17, Z2, K1, K2
	VPCOMPRESSQ.Z Z0, K2, Z0
	VMOVDQU64     Z0, (DX)
	KMOVB         K2, AX
	POPCNTL       AX, AX
	LEAQ          (DX)(AX*8), DX
	ADDQ          $64, SI
	SUBQ          $8, R9
	JG            eight

thrown:
	VZEROUPPER
	XORL R13, R13 // number of bins filled

throw:
	CMPQ    R11, DX
	JCC     done
	MOVQ    (R11), AX
	MOVQ    AX, CX
	ANDQ    R8, CX
	SHRQ    $9, AX
	ORQ     R10, AX
	MOVQ    (DI)(CX*8), BX
	MOVQ    BX, R12
	SHRQ    $63, R12
	ADDQ    R12, R13
	CMPQ    AX, BX
	CMOVQHI BX, AX
	MOVQ    AX, (DI)(CX*8)
	ADDQ    $8, R11
	JMP     throw

done:
	MOVQ R13, filled+64(FP)
	RET
