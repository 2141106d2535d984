//go:build !purego

#include "textflag.h"

DATA nibbles<>+0(SB)/8, $0x0302020102010100
DATA nibbles<>+8(SB)/8, $0x0403030203020201
DATA nibbles<>+16(SB)/8, $0x0302020102010100
DATA nibbles<>+24(SB)/8, $0x0403030203020201
GLOBL nibbles<>(SB), RODATA|NOPTR, $32

DATA low<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL low<>(SB), RODATA|NOPTR, $8

// func farAVX2(columns, signature []uint64, d int) int
TEXT ·farAVX2(SB), NOSPLIT, $0-64
	MOVQ         columns_base+0(FP), SI
	MOVQ         columns_len+8(FP), CX
	LEAQ         (SI)(CX*8), CX       // the end
	MOVQ         signature_base+24(FP), DI
	MOVQ         signature_len+32(FP), R8
	VPBROADCASTQ d+48(FP), Y0
	VMOVDQU      nibbles<>(SB), Y1
	VPBROADCASTQ low<>(SB), Y2
	VPXOR        Y3, Y3, Y3
	XORL         AX, AX

block:
	CMPQ  SI, CX
	JGE   done
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	XORL  BX, BX

word:
	VPBROADCASTQ (DI)(BX*8), Y6
	VPXOR        (SI), Y6, Y7
	VPXOR        32(SI), Y6, Y8
	VPAND        Y2, Y7, Y9
	VPAND        Y2, Y8, Y10
	VPSRLW       $4, Y7, Y7
	VPSRLW       $4, Y8, Y8
	VPAND        Y2, Y7, Y7
	VPAND        Y2, Y8, Y8
	VPSHUFB      Y9, Y1, Y9
	VPSHUFB      Y10, Y1, Y10
	VPSHUFB      Y7, Y1, Y7
	VPSHUFB      Y8, Y1, Y8
	VPADDB       Y7, Y9, Y9
	VPADDB       Y8, Y10, Y10
	VPADDB       Y9, Y4, Y4           // at most 8 per word, for at most 16 words
	VPADDB       Y10, Y5, Y5
	ADDQ         $64, SI
	INCQ         BX
	CMPQ         BX, R8
	JLT          word

	VPSADBW   Y3, Y4, Y4
	VPSADBW   Y3, Y5, Y5
	VPCMPGTQ  Y0, Y4, Y4
	VPCMPGTQ  Y0, Y5, Y5
	VPAND     Y4, Y5, Y4
	VMOVMSKPD Y4, DX
	CMPL      DX, $15
	JNE       done
	INCQ      AX
	JMP       block

done:
	MOVQ AX, blocks+56(FP)
	VZEROUPPER
	RET

// WORD adds the number of bits in which a word differs to Z1.
#define WORD(at, word) \
	VPXORQ   at(SI), word, Z2 \
	VPOPCNTQ Z2, Z2           \
	VPADDQ   Z2, Z1, Z1

#define FIRST \
	VPXORQ   (SI), Z3, Z1 \
	VPOPCNTQ Z1, Z1

// NEXT continues with the next block unless a signature of this one is near.
#define NEXT(size, block) \
	VPCMPUQ  $2, Z0, Z1, K1 \
	KORTESTB K1, K1         \
	JNZ      done           \
	INCQ     AX             \
	ADDQ     $size, SI      \
	CMPQ     SI, CX         \
	JLT      block          \
	JMP      done

// func farAVX512(columns, signature []uint64, d int) int
TEXT ·farAVX512(SB), NOSPLIT, $0-64
	MOVQ         columns_base+0(FP), SI
	MOVQ         columns_len+8(FP), CX
	LEAQ         (SI)(CX*8), CX         // the end
	MOVQ         signature_base+24(FP), DI
	MOVQ         signature_len+32(FP), R8
	VPBROADCASTQ d+48(FP), Z0
	XORL         AX, AX
	CMPQ         SI, CX
	JGE          done

	// Keep up to four words in registers.
	VPBROADCASTQ (DI), Z3
	CMPQ         R8, $1
	JEQ          one
	VPBROADCASTQ 8(DI), Z4
	CMPQ         R8, $2
	JEQ          two
	VPBROADCASTQ 16(DI), Z5
	CMPQ         R8, $3
	JEQ          three
	VPBROADCASTQ 24(DI), Z6
	CMPQ         R8, $4
	JEQ          four

many:
	VPXORQ Z1, Z1, Z1
	XORL   BX, BX

word:
	VMOVDQU64   (SI), Z2
	VPXORQ.BCST (DI)(BX*8), Z2, Z2
	VPOPCNTQ    Z2, Z2
	VPADDQ      Z2, Z1, Z1
	ADDQ        $64, SI
	INCQ        BX
	CMPQ        BX, R8
	JLT         word
	NEXT(0, many)

one:
	FIRST
	NEXT(64, one)

two:
	FIRST
	WORD(64, Z4)
	NEXT(128, two)

three:
	FIRST
	WORD(64, Z4)
	WORD(128, Z5)
	NEXT(192, three)

four:
	FIRST
	WORD(64, Z4)
	WORD(128, Z5)
	WORD(192, Z6)
	NEXT(256, four)

done:
	MOVQ AX, blocks+56(FP)
	VZEROUPPER
	RET
